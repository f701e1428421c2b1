# provider.sh KIND TESTBINARY: rdma/verbs' own tests, on a device of that kind.
rdma link add r0 type "$1" netdev "$GUEST_DEV" || exit 1
for try in $(seq 20); do # an address that is tentative is no GID yet
  ip -6 addr show tentative dev "$GUEST_DEV" | grep -q tentative || break
  sleep 0.3
done
ulimit -n 65536
export VERBS_ADDR=${GUEST_ADDR%/*} VERBS_LINK="r0 type $1 netdev $GUEST_DEV"
"$2" -test.v -test.timeout 1h -test.bench . -test.benchtime 300x

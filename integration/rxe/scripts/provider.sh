# provider.sh KIND TESTBINARY: rdma/verbs' own tests, on a device of that kind.
rdma link add r0 type "$1" netdev "$GUEST_DEV" || exit 1
for try in $(seq 20); do # an address that is tentative is no GID yet
  ip -6 addr show tentative dev "$GUEST_DEV" | grep -q tentative || break
  sleep 0.3
done
ulimit -n 65536
export VERBS_ADDR=${GUEST_ADDR%/*} VERBS_LINK="r0 type $1 netdev $GUEST_DEV"
# User Mode Linux maps page by page what is not contiguous in the guest's memory, up to vm.max_map_count of the host: what registers
# most comes first, and in a process of its own.
#
# Waiters sleep in the runtime's poller with GOMAXPROCS=1, and in system calls of their own where that is more than the processors.
for GOMAXPROCS in 1 2; do
  export GOMAXPROCS
  "$2" -test.v -test.timeout 4m -test.run '^TestSuite$/^Endpoint' &&
    "$2" -test.v -test.timeout 4m -test.skip '^TestSuite$/^Endpoint' -test.bench . -test.benchtime 300x || exit 1
done

# provider.sh KIND TESTBINARY runs the tests of rdma/verbs on a device of that kind.
rdma link add r0 type "$1" netdev "$GUEST_DEV" || exit 1
for try in $(seq 20); do # a tentative address is not a GID yet
  ip -6 addr show tentative dev "$GUEST_DEV" | grep -q tentative || break
  sleep 0.3
done
ulimit -n 65536
export VERBS_ADDR=${GUEST_ADDR%/*} VERBS_LINK="r0 type $1 netdev $GUEST_DEV"
# User Mode Linux needs a mapping for each page that is not contiguous in the guest's memory, and the host's vm.max_map_count limits
# them. So the tests that register most memory run first and in a separate process.
#
# With GOMAXPROCS=1 waiters sleep in the runtime's poller. With more than the processors they sleep in their own system calls.
for GOMAXPROCS in 1 2; do
  export GOMAXPROCS
  "$2" -test.v -test.timeout 4m -test.run '^TestSuite$/^Endpoint' &&
    "$2" -test.v -test.timeout 4m -test.skip '^TestSuite$/^Endpoint' -test.bench . -test.benchtime 300x || exit 1
done

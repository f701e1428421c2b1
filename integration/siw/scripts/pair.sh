# Runs the test binary $1 on a siw device.
set -e
rdma link add r0 type siw netdev "$GUEST_DEV"
for _ in {1..100}; do rdma link show r0/1 | grep -q 'state ACTIVE' && break; sleep 0.05; done
ulimit -l unlimited
PAIR_ADDR=${GUEST_ADDR%/*} "$1" -test.v -test.timeout 4m

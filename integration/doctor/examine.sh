# Runs the doctor in this guest without an RDMA device, and with one of each kind. $1 is the program.
set -e
bin=$1 dev=$GUEST_DEV
mkdir -p /srv/data
export FILESERVER_STATE_DIR=/tmp/state
"$bin" user add ann --uid 1 --gid 1 <<<secret >/dev/null

# doctor NAME [FLAG...] prints the doctor's report between marks.
doctor() {
  echo "=== $1"
  local status=0
  "$bin" doctor --json --share data=/srv/data --listen 0.0.0.0 --allow 198.18.1.0/24 "${@:2}" || status=$?
  echo "=== status $status"
}
# active DEVICE waits until the device's port is active.
active() { for _ in {1..100}; do rdma link show "$1/1" | grep -q ACTIVE && return; sleep 0.05; done; rdma link; return 1; }

doctor none

rdma link add rxe0 type rxe netdev "$dev"
active rxe0
doctor rxe
FILESERVER_RDMA_DEVICES=off doctor devices-off
ulimit -l 8192
FILESERVER_SMB_SIGNING=required doctor signing
rdma link delete rxe0

rdma link add siw0 type siw netdev "$dev"
active siw0
doctor siw
FILESERVER_IWARP_ENABLED=false doctor siw-alone
rdma link delete siw0

ip link add down0 type veth peer name down1
ip addr add 198.18.7.1/24 dev down0
ip link set down1 up
ip link set down0 up
rdma link add siw1 type siw netdev down0
active siw1
ip link set down0 down
doctor link-down

rdma link delete siw1

# The kernel's NFS server uses the ports, and through siw also that of iWARP.
rdma link add siw0 type siw netdev "$dev"
active siw0
mkdir -p /var/lib/nfs/v4recovery
mount -t nfsd nfsd /proc/fs/nfsd
echo -3 >/proc/fs/nfsd/versions # version 3 needs rpcbind
for port in "tcp 2049" "rdma 20049"; do echo "$port" >/proc/fs/nfsd/portlist; done
echo 1 >/proc/fs/nfsd/threads
doctor knfsd

# Runs the doctor as a client of the kernel's NFS server over $2 (siw or rxe). $1 is the program.
set -e
bin=$1 addr=${GUEST_ADDR%/*}
rdma link add r0 type "$2" netdev "$GUEST_DEV"
mkdir -p /var/lib/nfs/v4recovery
mount -t nfsd nfsd /proc/fs/nfsd
echo -3 >/proc/fs/nfsd/versions # version 3 needs rpcbind
for port in "tcp 2049" "rdma 20049"; do echo "$port" >/proc/fs/nfsd/portlist; done
echo 1 >/proc/fs/nfsd/threads
sleep 1
echo "=== $2"
status=0
"$bin" doctor --json --connect "$addr" --proto nfs || status=$?
echo "=== status $status"

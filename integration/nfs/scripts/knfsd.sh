# The kernel's own server, in a guest of its own, to compare with; it wants Debian's nfs-kernel-server.
set -e
rdma link add siw0 type siw netdev "$GUEST_DEV"
mkdir -p /data /run/rpcbind /var/lib/nfs/v4recovery
mount -t tmpfs -o size=80% data /data
chmod 1777 /data
mount -t nfsd nfsd /proc/fs/nfsd
rpcbind -w
exportfs -o rw,fsid=0,no_subtree_check,insecure,root_squash '*:/data'
rpc.mountd -p 2050
echo 10 >/proc/fs/nfsd/nfsv4gracetime
rpc.nfsd --rdma=20049 8
cat /proc/fs/nfsd/portlist /proc/fs/nfsd/versions
echo 0 >/proc/sys/fs/leases-enable # its delegations would hide the locks of two mounts of one client from one another
mark serving
await stop 3600

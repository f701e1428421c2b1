# Runs the kernel's server in a separate guest, to compare with. Needs Debian's nfs-kernel-server.
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
echo 0 >/proc/sys/fs/leases-enable # with delegations two mounts of one client do not see each other's locks
mark serving
await stop 3600

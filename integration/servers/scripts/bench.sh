# Runs fileserver bench against the kernel's servers in the same guest. The test sets FILESERVER, the program, and DEBIAN, a tree with
# ksmbd's tools. Each run prints its name and its result, as JSON, between marks.
set -e
addr=${GUEST_ADDR%/*} share=/srv/bench password=secret
mkdir -p $share
mount -t tmpfs -o size=128m share $share
chmod 1777 $share
rdma link add bench type siw netdev "$GUEST_DEV"

knfsd() {
  mkdir -p /run/rpcbind /var/lib/nfs/v4recovery
  mount -t nfsd nfsd /proc/fs/nfsd
  echo 1048576 >/proc/fs/nfsd/max_block_size
  rpcbind -w
  exportfs -o rw,fsid=0,no_subtree_check,no_root_squash "*:$share" # secure by default: the client must use a reserved port
  rpc.mountd -p 2050
  rpc.nfsd --rdma=20049 8
  echo Y >/proc/fs/nfsd/v4_end_grace # no client has state to reclaim
}

ksmbd() {
  mkdir -p "$DEBIAN$share" "$DEBIAN/etc/ksmbd"
  mount --bind $share "$DEBIAN$share"
  mount --rbind /dev "$DEBIAN/dev"
  mount -t proc proc "$DEBIAN/proc"
  mount -t sysfs sys "$DEBIAN/sys"
  mount -t tmpfs run "$DEBIAN/run"
  printf '[global]\n[data]\n  path = %s\n  read only = no\n' $share >"$DEBIAN/etc/ksmbd/ksmbd.conf"
  chroot "$DEBIAN" ksmbd.adduser -a -p $password root >/tmp/adduser 2>&1 || { cat /tmp/adduser; return 1; }
  chroot "$DEBIAN" ksmbd.mountd -n >/tmp/mountd 2>&1 &
  for _ in {1..200}; do [ -z "$(ss -Hltn 'sport = :445')" ] || return 0; sleep 0.05; done
  cat /tmp/mountd
  return 1
}

bench() {
  local name=$1
  shift
  echo "begin $name"
  echo $password | "$FILESERVER" bench "$addr" --json --time 0 --size 4m --jobs 2 --op mixed --verify all --timeout 20s "$@" || echo "status $?"
  echo "end $name"
}

knfsd
for fabric in tcp iwarp; do
  bench "nfs3 $fabric" --transport $fabric --vers 3 --share $share --bs 64k
  bench "nfs4.1 $fabric" --transport $fabric --vers 4.1 --share / --bs 4k
  bench "nfs4.2 $fabric" --transport $fabric --vers 4.2 --share / --bs 256k
done
bench "nfs4.2 invalidate" --transport iwarp --vers 4.2 --share / --bs 64k --invalidate
rpc.nfsd 0

ksmbd
# ksmbd refuses logins just after its start.
for _ in {1..100}; do echo $password | "$FILESERVER" bench "$addr" --proto smb --share data --user root --time 0 --size 64k --bs 4k --jobs 1 >/tmp/first 2>&1 && break; sleep 0.1; done
smb="--proto smb --share data --user root"
for fabric in tcp iwarp; do
  bench "smb $fabric" --transport $fabric $smb --bs 64k
  bench "smb signed $fabric" --transport $fabric $smb --bs 16k --sign
  bench "smb encrypted $fabric" --transport $fabric $smb --bs 16k --encrypt
done
bench "smb 2.1" $smb --bs 64k --dialect 2.1
bench "smb invalidate" --transport iwarp $smb --bs 64k --invalidate
echo "left: $(ls $share)"

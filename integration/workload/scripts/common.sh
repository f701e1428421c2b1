# Read before every workload. The test gives SERVER (its address), PROTO (rdma or tcp), FS (nfs or smb), WORK (the program work), and
# MTU (of the network, if it matters).
set -euo pipefail
trap 'echo "failed: line $LINENO: $BASH_COMMAND" >&2' ERR

SRC=/usr/local/go/src
# What the workloads git and tree work with; lib.sh may take less.
SOURCES="$SRC/net $SRC/encoding $SRC/os"
TREE=$SRC

# network PORT makes a soft iWARP device of the guest's network device. The kernel's RDMA connection manager gives up its first attempt
# after 5 seconds when it has to find the server's hardware address first; a TCP connection to PORT finds it.
network() {
  [ -z "$MTU" ] || ip link set "$GUEST_DEV" mtu "$MTU"
  [ "$PROTO" = rdma ] || return 0
  (: <>"/dev/tcp/$SERVER/$1")
  rdma link add siw0 type siw netdev "$GUEST_DEV"
}

# fresh DIR forgets all that the client knows of the mount: what is read next comes from the server.
fresh() {
  umount "$1"
  echo 3 >/proc/sys/vm/drop_caches
  mnt "$@"
}

# took NAME COMMAND... runs a command and says how long it took.
took() {
  local name=$1 start=${EPOCHREALTIME/./}
  shift
  "$@"
  echo "$name: $(((${EPOCHREALTIME/./} - start) / 1000)) ms"
}

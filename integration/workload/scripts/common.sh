# Every workload reads this first. The test sets SERVER (its address), PROTO (rdma or tcp), FS (nfs or smb), WORK (the program work), and
# MTU (of the network, or empty).
set -euo pipefail
trap 'echo "failed: line $LINENO: $BASH_COMMAND" >&2' ERR

SRC=/usr/local/go/src
# The sources for the workloads git and tree, and the amount of work of others. less reduces them if a test with a slow device sets LESS.
SOURCES="$SRC/net $SRC/encoding $SRC/os"
TREE=$SRC
COUNT=5000 LENGTHS=9000
less() {
  [ -n "${LESS:-}" ] || return 0
  SOURCES="$SRC/encoding $SRC/os" TREE=$SRC/net COUNT=1000 LENGTHS=2500
}

# network PORT adds an RDMA device on the guest's network device, and starts the server if it belongs in this guest. It first makes a TCP
# connection to PORT, which resolves the server's hardware address: if the kernel's RDMA connection manager has to do that, its first
# attempt fails after 5 seconds.
network() {
  [ -z "${MTU:-}" ] || ip link set "$GUEST_DEV" mtu "$MTU"
  [ "${PLACE:-outside}" != same ] || { device; server; return 0; }
  [ "$PROTO" = rdma ] || return 0
  (: <>"/dev/tcp/$SERVER/$1")
  device
  [ -z "${LOSSY:-}" ] || lossy
}

# lossy drops 1 % and reorders 1 % of the packets that leave the guest.
lossy() { tc qdisc add dev "$GUEST_DEV" root netem limit 10000 delay 1ms reorder 1% loss 1%; }

# device adds the RDMA device, of the kind DEVICE.
device() { rdma link add "${DEVICE:-siw}0" type "${DEVICE:-siw}" netdev "$GUEST_DEV"; }

# fresh DIR mounts again with empty caches, so that the next reads come from the server.
fresh() {
  umount "$1"
  echo 3 >/proc/sys/vm/drop_caches
  mnt "$@"
}

# took NAME COMMAND... runs a command and prints how long it took.
took() {
  local name=$1 start=${EPOCHREALTIME/./}
  shift
  "$@"
  echo "$name: $(((${EPOCHREALTIME/./} - start) / 1000)) ms"
}

# beside writes, reads back and compares over TCP until the test signals stop, and records each round in /out/beside.
beside() {
  local n
  tcp /mnt/tcp
  for ((n = 1;; n++)); do
    [ ! -e "$GUEST/signal-stop" ] || return 0
    head -c 65536 /dev/urandom >/tmp/beside
    dd if=/tmp/beside of=/mnt/tcp/beside bs=64k oflag=direct status=none
    dd if=/mnt/tcp/beside bs=64k iflag=direct status=none | cmp - /tmp/beside
    echo $n >>/out/beside
    sleep 0.1
  done
}

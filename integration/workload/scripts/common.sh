# Read before every workload. The test gives SERVER (its address), PROTO (rdma or tcp), FS (nfs or smb), WORK (the program work), and
# MTU (of the network, if it matters).
set -euo pipefail
trap 'echo "failed: line $LINENO: $BASH_COMMAND" >&2' ERR

SRC=/usr/local/go/src
# What the workloads git and tree work with, and how much others do. lib.sh, or a test whose device is slow (LESS), takes less.
SOURCES="$SRC/net $SRC/encoding $SRC/os"
TREE=$SRC
COUNT=5000 LENGTHS=9000
less() {
  [ -n "${LESS:-}" ] || return 0
  SOURCES="$SRC/encoding $SRC/os" TREE=$SRC/net COUNT=1000 LENGTHS=2500
}

# network PORT makes an RDMA device of the guest's network device, and has the server run where that is in this guest. The kernel's RDMA
# connection manager gives up its first attempt after 5 seconds when it has to find the server's hardware address first; a TCP
# connection to PORT finds it.
network() {
  [ -z "${MTU:-}" ] || ip link set "$GUEST_DEV" mtu "$MTU"
  [ "${PLACE:-outside}" != same ] || { device; server; return 0; }
  [ "$PROTO" = rdma ] || return 0
  (: <>"/dev/tcp/$SERVER/$1")
  device
  [ -z "${LOSSY:-}" ] || lossy
}

# lossy loses, and lets overtake the others, 1 % each of the packets that leave the guest.
lossy() { tc qdisc add dev "$GUEST_DEV" root netem limit 10000 delay 1ms reorder 1% loss 1%; }

# device makes the RDMA device, of the kind DEVICE.
device() { rdma link add "${DEVICE:-siw}0" type "${DEVICE:-siw}" netdev "$GUEST_DEV"; }

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

# beside writes, reads back and compares over TCP until the test says stop, and notes each time in /out/beside.
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

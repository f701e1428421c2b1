# Read by every workload. The test gives SERVER, EXPORT, VERS, PROTO (rdma or tcp), OPTIONS (more mount options), WORK (the program
# nfswork), and MTU (of the network, if it matters).
set -euo pipefail
trap 'echo "failed: line $LINENO: $BASH_COMMAND" >&2' ERR

# connect makes a soft iWARP device of the guest's network device. The kernel's RDMA connection manager gives up its first attempt
# after 5 seconds when it has to find the server's hardware address first; a TCP connection finds it.
connect() {
  [ -z "$MTU" ] || ip link set "$GUEST_DEV" mtu "$MTU"
  [ "$PROTO" = rdma ] || return 0
  (: <>"/dev/tcp/$SERVER/2049")
  rdma link add siw0 type siw netdev "$GUEST_DEV"
}

# mnt DIR [OPTIONS] mounts the export and makes sure that it goes where it should.
mnt() {
  mkdir -p "$1"
  mount -t nfs -o "retry=0,vers=$VERS,$OPTIONS${2:+,$2}" "$SERVER:$EXPORT" "$1"
  awk -v dir="$1" -v proto="proto=$PROTO" -v vers="vers=$VERS" '
    $2 == dir { n = split($4, o, ","); for (i = 1; i <= n; i++) seen[o[i]] = 1; line = $0 }
    END { if (!seen[proto] || !seen[vers]) { print "mounted otherwise: " line; exit 1 } }' /proc/mounts
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

connect
M=/mnt/nfs
took mount mnt $M

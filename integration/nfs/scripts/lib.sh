# Read by every workload. The test gives EXPORT, VERS and OPTIONS (more mount options) too.

# mnt DIR [OPTIONS] mounts the export and makes sure that it goes where it should.
mnt() {
  mkdir -p "$1"
  mount -t nfs -o "retry=0,vers=$VERS,$OPTIONS${2:+,$2}" "$SERVER:$EXPORT" "$1"
  awk -v dir="$1" -v proto="proto=$PROTO" -v vers="vers=$VERS" '
    $2 == dir { n = split($4, o, ","); for (i = 1; i <= n; i++) seen[o[i]] = 1; line = $0 }
    END { if (!seen[proto] || !seen[vers]) { print "mounted otherwise: " line; exit 1 } }' /proc/mounts
}

# other DIR mounts the export as another client would.
other() { mnt "$1" nosharecache; }

# tcp DIR mounts it over TCP. With the same minor version an NFSv4 client would find that it knows the server already, by RDMA.
tcp() { VERS=3 PROTO=tcp OPTIONS=proto=tcp,port=2049,mountport=2049,mountproto=tcp,nolock mnt "$1"; }

# reclaimed FILE makes sure that a lock has been reclaimed.
reclaimed() { "$WORK" locked "$1"; }

# NFSv4 locks are the server's. With version 3 and nolock they are the client's own.
LOCKS=server
[ "$VERS" != 3 ] || LOCKS=local

less
network 2049
M=/mnt/nfs
took mount mnt $M

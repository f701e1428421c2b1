# Every workload reads this. The test also sets EXPORT, VERS and OPTIONS (more mount options).

# mnt DIR [OPTIONS] mounts the export and checks the transport and version of the mount.
mnt() {
  mkdir -p "$1"
  mount -t nfs -o "retry=0,vers=$VERS,$OPTIONS${2:+,$2}" "$SERVER:$EXPORT" "$1"
  awk -v dir="$1" -v proto="proto=$PROTO" -v vers="vers=$VERS" '
    $2 == dir { n = split($4, o, ","); for (i = 1; i <= n; i++) seen[o[i]] = 1; line = $0 }
    END { if (!seen[proto] || !seen[vers]) { print "mounted with other options: " line; exit 1 } }' /proc/mounts
}

# other DIR mounts the export without sharing a cache with the first mount.
other() { mnt "$1" nosharecache; }

# tcp DIR mounts the export over TCP, with version 3: an NFSv4 client would recognize the server and use its RDMA connection.
tcp() { VERS=3 PROTO=tcp OPTIONS=proto=tcp,port=2049,mountport=2049,mountproto=tcp,nolock mnt "$1"; }

# reclaimed FILE fails unless the client has reclaimed its lock on FILE.
reclaimed() { "$WORK" locked "$1"; }

# The server keeps NFSv4 locks. With version 3 and nolock the client keeps its own.
LOCKS=server
[ "$VERS" != 3 ] || LOCKS=local

less
network 2049
M=/mnt/nfs
took mount mnt $M

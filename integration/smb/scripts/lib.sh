# Every workload reads this. The test sets PORT (the server's TCP port), OPTIONS (of all mounts), PASSWD, and EXPECT: options that
# /proc/mounts must show.

# mnt DIR [OPTIONS] mounts the share and checks the options of the mount.
mnt() {
  mkdir -p "$1"
  mount -t cifs -o "$OPTIONS${2:+,$2}" "//$SERVER/data" "$1"
  awk -v dir="$1" -v expect="$EXPECT" '
    $2 == dir { n = split($4, o, ","); for (i = 1; i <= n; i++) seen[o[i]] = 1; line = $0 }
    END { n = split(expect, e, " "); for (i = 1; i <= n; i++) if (!seen[e[i]]) { print "mounted with other options: " line; exit 1 } }' /proc/mounts
}

# other DIR mounts the share like another client: with its own connection and identity.
other() { mnt "$1" nosharesock; }

# tcp DIR mounts the share over TCP.
tcp() { OPTIONS="${OPTIONS%,rdma},port=$PORT" EXPECT="${EXPECT% rdma}" mnt "$1" nosharesock; }

# reclaimed FILE waits until FILE is locked. A client opens a file again, and locks it again, only some time after it has reconnected.
reclaimed() { for _ in {1..200}; do "$WORK" locked "$1" 2>/dev/null && return 0; sleep 0.1; done; "$WORK" locked "$1"; }

LOCKS=server
SOURCES="$SRC/encoding $SRC/os"
TREE=$SRC/cmd

less
network "$PORT"
M=/mnt/smb
took mount mnt $M

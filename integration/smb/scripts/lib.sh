# Read by every workload. The test gives PORT (where TCP is served), OPTIONS (of all mounts), PASSWD, and EXPECT, words that have to be
# among the options that /proc/mounts shows.

# mnt DIR [OPTIONS] mounts the share and makes sure that it goes where it should.
mnt() {
  mkdir -p "$1"
  mount -t cifs -o "$OPTIONS${2:+,$2}" "//$SERVER/data" "$1"
  awk -v dir="$1" -v expect="$EXPECT" '
    $2 == dir { n = split($4, o, ","); for (i = 1; i <= n; i++) seen[o[i]] = 1; line = $0 }
    END { n = split(expect, e, " "); for (i = 1; i <= n; i++) if (!seen[e[i]]) { print "mounted otherwise: " line; exit 1 } }' /proc/mounts
}

# other DIR mounts the share as another client would: a connection and an identity of its own.
other() { mnt "$1" nosharesock; }

# tcp DIR mounts the share over TCP.
tcp() { OPTIONS="${OPTIONS%,rdma},port=$PORT" EXPECT="${EXPECT% rdma}" mnt "$1" nosharesock; }

# reclaimed FILE waits for a lock: a writer that has not written since has not opened its file again, and so has its lock a little later.
reclaimed() { for _ in {1..200}; do "$WORK" locked "$1" 2>/dev/null && return 0; sleep 0.1; done; "$WORK" locked "$1"; }

LOCKS=server
SOURCES="$SRC/encoding $SRC/os"
TREE=$SRC/cmd

less
network "$PORT"
M=/mnt/smb
took mount mnt $M

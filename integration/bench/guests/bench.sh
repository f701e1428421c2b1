# Measures servers one after the other, in one guest: $1 is the protocol, $2 the fabric; the rest are visits, ROUND:SERVER. Go gives
# FILESERVER, the program; DEBIAN, a tree with ksmbd's tools; RUNTIME, the seconds of a measurement; CELLS, NAME:RW:BS:DEPTH each; and for
# each server of ours its configuration in $GUEST/SERVER.yaml and its program in SERVER.program. PROFILE asks for CPU profiles of ours, SYSCALLS for a count of its system calls.
set -e
proto=$1 fabric=$2
shift 2
addr=${GUEST_ADDR%/*} share=/srv/bench M=/mnt/bench
export PASSWD=secret # for mount.cifs

[ "$fabric" = tcp ] || rdma link add bench type "$fabric" netdev "$GUEST_DEV"
mkdir -p $share $M
mount -t tmpfs -o size=256m share $share
chmod 1777 $share

# settle COMMAND... repeats a command until it succeeds.
settle() {
  for _ in {1..200}; do "$@" >/tmp/settle 2>&1 && return; sleep 0.05; done
  echo "this does not succeed: $*"
  cat /tmp/settle
  return 1
}
listens() { [ -n "$(ss -Hltn "sport = :$1")" ]; }
quiet() { ! listens "$1"; }

knfsd_once() {
  mkdir -p /run/rpcbind /var/lib/nfs/v4recovery
  mount -t nfsd nfsd /proc/fs/nfsd
  echo 1048576 >/proc/fs/nfsd/max_block_size # like ours; the default depends on the memory and is smaller
  rpcbind -w
  exportfs -o rw,fsid=0,no_subtree_check,insecure,no_root_squash "*:$share"
  rpc.mountd -p 2050
}
knfsd_start() {
  [ -e /proc/fs/nfsd/threads ] || knfsd_once
  if [ "$fabric" = tcp ]; then rpc.nfsd 8; else rpc.nfsd --rdma=20049 8; fi
  echo Y >/proc/fs/nfsd/v4_end_grace # no client has state to reclaim
  export=/
}
knfsd_stop() { rpc.nfsd 0; }

ksmbd_once() {
  mkdir -p "$DEBIAN$share" "$DEBIAN/etc/ksmbd"
  mount --bind $share "$DEBIAN$share"
  mount --rbind /dev "$DEBIAN/dev"
  mount -t proc proc "$DEBIAN/proc"
  mount -t sysfs sys "$DEBIAN/sys"
  mount -t tmpfs run "$DEBIAN/run"
  printf '[global]\n[data]\n  path = %s\n  read only = no\n' $share >"$DEBIAN/etc/ksmbd/ksmbd.conf"
  chroot "$DEBIAN" ksmbd.adduser -a -p $PASSWD root >/tmp/adduser 2>&1 || { cat /tmp/adduser; return 1; }
}
ksmbd_start() {
  [ -e "$DEBIAN/etc/ksmbd/ksmbdpwd.db" ] || ksmbd_once
  chroot "$DEBIAN" ksmbd.mountd -n >/tmp/mountd 2>&1 &
  settle listens 445
}
ksmbd_stop() {
  chroot "$DEBIAN" ksmbd.control -s >/tmp/control 2>&1 || { cat /tmp/control; return 1; }
  settle quiet 445
  wait
}

ours_start() {
  rm -rf /tmp/state
  echo $PASSWD | "$FILESERVER" user add root --uid 0 --gid 0 --state-dir /tmp/state >/tmp/user 2>&1 || { cat /tmp/user; return 1; }
  "$(cat "$GUEST/$1.program")" serve --config "$GUEST/$1.yaml" 2>/tmp/log &
  ours=$!
  case $proto in nfs) settle listens 2049 ;; smb) settle listens 445 ;; esac || { cat /tmp/log; return 1; }
  sleep 0.2 # the other transports
  export=/data
}
ours_stop() {
  kill $ours
  wait $ours || { cat /tmp/log; return 1; }
}

mnt() {
  case $proto-$fabric in
    nfs-tcp) mount -t nfs -o vers=4.2,proto=tcp,port=2049,retry=0 "$addr:$export" $M ;;
    nfs-*) mount -t nfs -o vers=4.2,proto=rdma,port=20049,retry=0 "$addr:$export" $M ;;
    smb-tcp) mount -t cifs -o vers=3.1.1,username=root "//$addr/data" $M ;;
    smb-*) mount -t cifs -o vers=3.1.1,username=root,rdma "//$addr/data" $M ;;
  esac
  grep " $M " /proc/mounts >/out/"$proto-$fabric-$1".mount
}

# load RW BS DEPTH FILE: one run of fio, and its report.
load() {
  fio --name=bench --filename=$M/file --size=64m --rw="$1" --bs="$2" --iodepth="$3" --direct=1 --ioengine=io_uring --fallocate=none \
    --time_based --runtime="$RUNTIME" --norandommap --eta=never --output-format=json --output="$4" || { cat "$4"; return 1; }
}

# measure NAME CELL measures one cell. With PROFILE it also profiles the server.
measure() {
  local name rw bs depth
  IFS=: read -r name rw bs depth <<<"$2"
  if [ -n "$PROFILE" ] && [ -n "$ours" ]; then
    "$GUEST/busybox" wget -q -O "/out/$1-$name.pprof" "http://127.0.0.1:9464/debug/pprof/profile?seconds=$RUNTIME" &
  fi
  mark begin "$1-$name"
  load "$rw" "$bs" "$depth" "/out/$1-$name.json"
  mark end
  if [ -n "$SYSCALLS" ] && [ -n "$ours" ]; then count "$rw" "$bs" "$depth" >"/out/$1-$name.syscalls"; fi
}

# count RW BS DEPTH: the server's system calls, and the turns of its threads, in another run, for each one that moves data of the file. The
# kernel's trace tells: strace changes too much.
count() {
  local t=/sys/kernel/tracing
  [ -e $t/trace ] || mount -t tracefs tracefs $t
  echo 16384 >$t/buffer_size_kb
  echo 1 >$t/options/event-fork
  ls /proc/$ours/task >$t/set_event_pid
  echo 0 >$t/tracing_on
  echo >$t/trace
  echo 1 >$t/events/raw_syscalls/sys_enter/enable
  echo 1 >$t/events/sched/sched_switch/enable
  (
    sleep 1
    echo 1 >$t/tracing_on
    sleep 0.5
    echo 0 >$t/tracing_on
  ) &
  load "$1" "$2" "$3" /tmp/load
  wait $!
  echo 0 >$t/events/enable
  awk -v comm="$(cat /proc/$ours/comm)" '
    BEGIN {
      split("0 read 1 write 3 close 7 poll 15 rt_sigreturn 16 ioctl 17 pread64 18 pwrite64 20 writev 24 sched_yield 35 nanosleep 39 getpid 45 recvfrom 72 fcntl 98 getrusage 186 gettid 202 futex 228 clock_gettime 230 clock_nanosleep 232 epoll_wait 233 epoll_ctl 234 tgkill 257 openat 271 ppoll 281 epoll_pwait 327 preadv2 328 pwritev2 332 statx", w, " ")
      for (i = 1; i in w; i += 2) name[w[i]] = w[i + 1]
    }
    match($0, /sys_enter: NR [0-9]+/) { k = substr($0, RSTART + 14, RLENGTH - 14); n[k in name ? name[k] : "syscall_" k]++ }
    /sched_switch:/ && index($0, "next_comm=" comm " ") { turns++ }
    END {
      data = n["pread64"] + n["preadv2"] + n["pwrite64"] + n["pwritev2"]
      n["turns_of_threads"] = turns
      for (k in n) if (data && n[k] >= data / 20) printf "%.1f %s\n", n[k] / data, k
    }' $t/trace | sort -rn
}

visit() {
  local round=${1%%:*} server=${1#*:} cell
  mark visit "$proto $fabric $1"
  ours=
  case $server in ours*) ours_start "$server" ;; *) "${server}_start" ;; esac
  settle mnt "$server" || { cat /tmp/log /tmp/mountd 2>/dev/null; return 1; } # ksmbd refuses logins just after its start
  dd if=/dev/zero of=$M/file bs=1M count=64 conv=fsync status=none
  for cell in $CELLS; do measure "$round-$proto-$fabric-$server" "$cell"; done
  umount $M
  case $server in ours*) ours_stop ;; *) "${server}_stop" ;; esac
}

for v in "$@"; do visit "$v"; done

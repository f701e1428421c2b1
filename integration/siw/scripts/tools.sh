# Runs rping and perftest against peer. Arguments: KIND (siw or rxe) and PEER, the program, which is omitted if the peers run outside.
# The lines of $GUEST/runs are the runs: NAME PORT TOOL [ARG...] | PEER'S ARG...; HERE stands for the guest's address. The script prints
# each result between marks. If the tool is the server, the run's name ends in ".server".
set -u
kind=$1 peer=${2:-}
here=${GUEST_ADDR%/*}

rdma link add r0 type "$kind" netdev "$GUEST_DEV" || exit 1
for _ in {1..100}; do rdma link show r0/1 | grep -q 'state ACTIVE' && break; sleep 0.05; done
# perftest reads the clock rate, which User Mode Linux does not provide.
{ cat /proc/cpuinfo; echo "cpu MHz : 1000.0"; } >/tmp/cpuinfo && mount --bind /tmp/cpuinfo /proc/cpuinfo
ulimit -l unlimited

# moved prints how many bytes have arrived, as the network devices count them. rxe's packets to itself do not pass them: there it counts
# packets of at most 4 KiB.
moved() {
  local n total=0
  if [ "$kind" = rxe ]; then
    n=$(cat /sys/class/infiniband/r0/ports/1/hw_counters/rcvd_pkts)
    echo $((n * 4096))
    return
  fi
  for n in /sys/class/net/*/statistics/rx_bytes; do total=$((total + $(cat "$n"))); done
  echo $total
}
# listens FILE waits until a peer prints that it listens.
listens() { for _ in {1..200}; do grep -q '^listening' "$1" && return; sleep 0.05; done; cat "$1"; return 1; }
# ended PID waits for a process and kills it if it does not end. The guest lacks the timers that timeout(1) needs.
ended() {
  for _ in {1..400}; do kill -0 "$1" 2>/dev/null || break; sleep 0.05; done
  kill -9 "$1" 2>/dev/null && echo "process $1 did not end and was killed"
  wait "$1"
}

while read -r name port line; do
  line=${line//HERE/$here}
  tool=${line%%|*} args=${line#*|}
  status=0 first=$(moved)
  rm -f /tmp/tool /tmp/peer
  echo "=== run $name"
  # shellcheck disable=SC2086
  case $name in
  *.server)
    $tool >/tmp/tool 2>&1 &
    pid=$!
    for _ in {1..100}; do rdma resource show cm_id | grep -q "LISTEN.*:$port " && break; sleep 0.05; done
    if [ -n "$peer" ]; then $peer $args 2>&1 || echo "peer: status $?"; else mark serving; fi
    ended $pid || status=$?
    ;;
  *)
    if [ -n "$peer" ]; then
      $peer $args >/tmp/peer 2>&1 &
      server=$!
      listens /tmp/peer || exit 1
    fi
    $tool >/tmp/tool 2>&1 &
    ended $! || status=$?
    [ -z "$peer" ] || { ended $server || echo "peer: status $?"; cat /tmp/peer; }
    ;;
  esac
  cat /tmp/tool
  echo "=== moved $(($(moved) - first))"
  echo "=== status $status"
done <"$GUEST/runs"

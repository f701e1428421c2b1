# Runs the tools of others against peer. Arguments: KIND (siw or rxe) and PEER, the program, or nothing where peers run outside.
# What is to be run is read from $GUEST/runs, in lines: NAME PORT TOOL [ARG...] | PEER'S ARG...; HERE is the guest's address.
# What comes of it is printed between marks. The name of a run in which the tool is the server ends in ".server".
set -u
kind=$1 peer=${2:-}
here=${GUEST_ADDR%/*}

rdma link add r0 type "$kind" netdev "$GUEST_DEV" || exit 1
for _ in {1..100}; do rdma link show r0/1 | grep -q 'state ACTIVE' && break; sleep 0.05; done
# perftest asks for the clock rate, of which User Mode Linux knows nothing.
{ cat /proc/cpuinfo; echo "cpu MHz : 1000.0"; } >/tmp/cpuinfo && mount --bind /tmp/cpuinfo /proc/cpuinfo
ulimit -l unlimited

# moved prints how many bytes have arrived: as the network devices count, or by rxe's packets, of 4 KiB at the most, for its way to itself.
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
# listens FILE waits until a peer says so.
listens() { for _ in {1..200}; do grep -q '^listening' "$1" && return; sleep 0.05; done; cat "$1"; return 1; }
# ended PID waits, and kills what does not end; timeout(1) needs timers that the guest has not.
ended() {
  for _ in {1..400}; do kill -0 "$1" 2>/dev/null || break; sleep 0.05; done
  kill -9 "$1" 2>/dev/null && echo "it had to be killed"
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

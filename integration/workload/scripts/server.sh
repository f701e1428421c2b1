# The server in a guest (workload.Inside). The test sets FILESERVER (the program) and writes its configuration to $GUEST/server.yaml. If
# the server has users, it sets LOGIN, a user with the password PASSWD.
STATE=/var/tmp/state SHARE=/srv/share

# server prepares the share and the user, and starts the server and the operator.
server() {
  mkdir -p $SHARE
  mount -t tmpfs -o mode=1777,size=80% share $SHARE
  [ -z "${LOGIN:-}" ] || "$FILESERVER" user add --state-dir $STATE --uid 1000 --gid 1000 "$LOGIN" <<<"$PASSWD" >/dev/null
  ulimit -l unlimited
  do_start
  operator &
}

# operator runs do_NAME when the test creates $GUEST/signal-do-N-NAME (Inside.Do).
operator() {
  local n=1 f said
  trap - ERR
  set +e
  while :; do
    for f in "$GUEST/signal-do-$n-"*; do
      [ -e "$f" ] || continue
      if said=$(set -e; "do_${f##*-}" 2>&1); then mark "did-$n" ok; else mark "did-$n" "${said//$'\n'/; }."; fi
      n=$((n + 1))
    done
    sleep 0.05
  done
}

# A subshell waits for the server and records its exit status.
do_start() {
  local address=${GUEST_ADDR%/*}
  rm -f /tmp/server.status
  (
    "$FILESERVER" serve --config "$GUEST/server.yaml" --state-dir $STATE --share data=$SHARE --listen "$address" --allow "${address%.*}.0/24" >>/out/server.log 2>&1 &
    echo $! >/tmp/server.pid
    wait $! && status=0 || status=$?
    echo $status >/tmp/server.status
  ) >/dev/null 2>&1 &
  listens
}
listens() { # waits until the server listens, also on all configured RDMA addresses
  for _ in {1..400}; do
    [ ! -e /tmp/server.status ] || break
    do_metrics 2>/dev/null && grep -q '^fileserver_rdma_listener.* 1$' /out/metrics && ! grep -q '^fileserver_rdma_listener.* 0$' /out/metrics && return 0
    sleep 0.05
  done
  echo "the server does not listen:"
  tail -n 20 /out/server.log
  return 1
}
ended() {
  for _ in {1..1200}; do
    [ ! -e /tmp/server.status ] || return 0
    sleep 0.05
  done
  echo "the server does not end"
  return 1
}
do_kill() { kill -KILL "$(cat /tmp/server.pid)" && ended; }
do_stop() {
  do_metrics && kill -TERM "$(cat /tmp/server.pid)" && ended || return
  [ "$(cat /tmp/server.status)" = 0 ] || { echo "the server ended with status $(cat /tmp/server.status)"; return 1; }
}
do_metrics() { "$GUEST/busybox" wget -q -O /out/metrics.new http://127.0.0.1:9464/metrics && mv /out/metrics.new /out/metrics; }
do_promises() { "$WORK" promises $SHARE /out/acks; }

# Faults of the device and the network, and their ends.
do_delete() { rdma link delete "${DEVICE}0"; }
do_add() { device; }
do_unaddress() { ip addr del "$GUEST_ADDR" dev "$GUEST_DEV"; }
do_address() { ip addr add "$GUEST_ADDR" dev "$GUEST_DEV"; }
do_lossy() { lossy; }

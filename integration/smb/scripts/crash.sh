# Writes while the test kills and restarts the server; the test reads the acknowledgements in /out/acks. A writer that has not written
# since has not opened its file again, and so has its lock a little later.
other /mnt/other
"$WORK" load $M /out/acks $GUEST/signal-stop &
load=$!
mark loading
reclaimed() { for _ in {1..200}; do "$WORK" locked "$1" 2>/dev/null && return 0; sleep 0.1; done; "$WORK" locked "$1"; }
for cycle in 1 2; do
  await back-$cycle 300
  for i in 0 1 2 3; do took reclaimed reclaimed /mnt/other/load-$i; done
  mark checked-$cycle
done
wait $load
fresh $M
mark stopped

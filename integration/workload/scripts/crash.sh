# Writes while the test kills and restarts the server; the test reads the acknowledgements in /out/acks.
other /mnt/other
"$WORK" load $M /out/acks $GUEST/signal-stop &
load=$!
mark loading
for cycle in 1 2; do
  await back-$cycle 300
  [ "$LOCKS" = local ] || for i in 0 1 2 3; do took reclaimed "$WORK" locked /mnt/other/load-$i; done
  mark checked-$cycle
done
wait $load
fresh $M
mark stopped

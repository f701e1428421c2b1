# Writes while the test kills and restarts the server or interrupts it otherwise. The test reads the acknowledgements in /out/acks. The
# protocol's lib.sh defines reclaimed FILE, which succeeds once the writer has its lock again. With BESIDE another mount, over TCP, is
# used all the time.
other /mnt/other
"$WORK" load $M /out/acks $GUEST/signal-stop &
load=$!
[ -z "${BESIDE:-}" ] || { beside & beside=$!; }
mark loading
for cycle in 1 2; do
  await back-$cycle 300
  [ "$LOCKS" = local ] || for i in 0 1 2 3; do took reclaimed reclaimed /mnt/other/load-$i; done
  mark checked-$cycle
done
wait $load
[ -z "${BESIDE:-}" ] || wait $beside
fresh $M
[ "${PLACE:-outside}" != same ] || do_promises
mark stopped

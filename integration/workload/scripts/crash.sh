# Writes while the test kills and restarts the server, or does it other harm; the test reads the acknowledgements in /out/acks. The
# protocol's lib.sh has reclaimed FILE, which succeeds where a writer has, or gets, its lock again. With BESIDE another mount, over TCP,
# is used all the time.
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

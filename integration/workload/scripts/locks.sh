# flock and fcntl. If the server keeps the locks, two mounts without a common cache must see each other's.
other=$M
if [ "$LOCKS" = server ]; then
  other=/mnt/other
  other $other
fi
took locks "$WORK" locks $M $other

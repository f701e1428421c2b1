# flock and fcntl. Where locks are the server's, two mounts without a common cache have to see one another's.
other=$M
if [ "$LOCKS" = server ]; then
  other=/mnt/other
  other $other
fi
took locks "$WORK" locks $M $other

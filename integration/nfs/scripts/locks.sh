# flock and fcntl. NFSv4 locks are the server's: two mounts without a common cache have to see one another's. With version 3
# and nolock they are the client's own.
other=$M
if [ "$VERS" != 3 ]; then
  other=/mnt/other
  mnt $other nosharecache
fi
took locks "$WORK" locks $M $other

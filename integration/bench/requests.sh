# requests.sh KIND PROGRAM ROUNDS MESSAGES measures the cost of work requests on a device of that kind.
rdma link add r0 type "$1" netdev "$GUEST_DEV" || exit 1
for try in $(seq 20); do # a tentative address is not a GID yet
  ip -6 addr show tentative dev "$GUEST_DEV" | grep -q tentative || break
  sleep 0.3
done
"$2" requests -rounds "$3" -messages "$4" "${GUEST_ADDR%/*}" >/out/costs

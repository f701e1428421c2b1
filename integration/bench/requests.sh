# requests.sh KIND PROGRAM ROUNDS MESSAGES: what work requests cost on a device of that kind.
rdma link add r0 type "$1" netdev "$GUEST_DEV" || exit 1
for try in $(seq 20); do # an address that is tentative is no GID yet
  ip -6 addr show tentative dev "$GUEST_DEV" | grep -q tentative || break
  sleep 0.3
done
"$2" requests -rounds "$3" -messages "$4" "${GUEST_ADDR%/*}" >/out/costs

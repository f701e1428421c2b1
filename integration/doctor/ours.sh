# Runs the doctor as a client of our server outside, at $2, with a user and the ports of the configuration $3. $1 is the program. It
# needs no RDMA device.
echo "=== ours"
status=0
"$1" doctor --json --config "$3" --connect "$2" --user ann <<<secret || status=$?
echo "=== status $status"

# Random and sequential writes of 512 B to 1 MiB in four processes, verified; buffered, then direct.
run() {
  local name=$1
  shift
  took "$name" fio --name="$name" --directory=$M --numjobs=4 --size=24m --bsrange=512-1m --rw=randwrite --fallocate=none \
    --verify=crc32c --verify_fatal=1 --verify_state_save=0 --eta=never --end_fsync=1 --output-format=terse --output=/tmp/fio-"$name" "$@" ||
    { cat /tmp/fio-"$name"; return 1; }
}
run buffered --ioengine=psync --do_verify=1
fresh $M
run buffered --ioengine=psync --verify_only
run direct --ioengine=io_uring --iodepth=4 --direct=1 --serialize_overlap=1 --do_verify=1
fresh $M
run direct --ioengine=psync --verify_only

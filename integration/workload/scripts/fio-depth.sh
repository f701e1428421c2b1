# 1 MiB at depth 8 in four processes, past the cache, verified.
run() {
  took "$@" fio --name=depth --directory=$M --numjobs=4 --size=${SIZE:-48m} --bs=${BS:-1m} --fallocate=none --direct=1 --verify=crc32c --verify_fatal=1 \
    --verify_state_save=0 --eta=never --output-format=terse --output=/tmp/fio $FIO || { cat /tmp/fio; return 1; }
}
FIO="--rw=randwrite --ioengine=io_uring --iodepth=8 --do_verify=1" run write-verify
fresh $M
FIO="--rw=read --ioengine=io_uring --iodepth=8 --verify_only" run verify

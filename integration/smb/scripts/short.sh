# A little of every workload, for mount options that only change the layers below the file system.
mkdir $M/files
took files "$WORK" files $M/files
took sparse "$WORK" sparse $M/files
took lengths "$WORK" lengths $M 500
fresh $M
took sparse-check "$WORK" sparse-check $M/files
took lengths-check "$WORK" lengths-check $M 500
took fio fio --name=mixed --directory=$M --numjobs=4 --size=4m --bsrange=512-1m --rw=randwrite --fallocate=none --ioengine=psync \
  --verify=crc32c --verify_fatal=1 --verify_state_save=0 --do_verify=1 --end_fsync=1 --eta=never --output-format=terse --output=/tmp/fio ||
  { cat /tmp/fio; false; }
head -c 5000001 /dev/urandom >/tmp/data
took copy cp /tmp/data $M/data
fresh $M
cmp /tmp/data $M/data

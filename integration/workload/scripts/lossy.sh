# Writes 8 MiB in each of two mounts with separate connections: with direct I/O, one request at a time, in pieces of 64 KiB, and then
# overwrites a part in pieces of 9 KiB. Reads each file back through the other mount and compares it.
other /mnt/other
dirs="$M /mnt/other"
fill() {
  dd if=/tmp/lossy of=$1/lossy-${1##*/} bs=64k oflag=direct status=none
  dd if=/tmp/lossy of=$1/lossy-${1##*/} bs=9k count=100 oflag=direct conv=notrunc status=none
}
compare() { dd if=$1/lossy-$2 bs=${3:-64k} iflag=direct status=none | cmp - /tmp/lossy; }
both() { # in both mounts at the same time
  local jobs=() d j
  for d in $dirs; do "$@" $d & jobs+=($!); done
  for j in ${jobs[@]}; do wait $j; done
}
crossed() { if [ $1 = $M ]; then compare $1 other; else compare $1 ${M##*/} 256k; fi; }
head -c ${SIZE:-8m} /dev/urandom >/tmp/lossy
took write both fill
fresh $M
took read both crossed

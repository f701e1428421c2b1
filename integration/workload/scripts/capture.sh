# One mount, one write and one read, which the test checks in a capture.
head -c 100000 /dev/urandom >/tmp/data
dd if=/tmp/data of=$M/data bs=65536 conv=fsync status=none
fresh $M
cmp /tmp/data $M/data
ls -l $M

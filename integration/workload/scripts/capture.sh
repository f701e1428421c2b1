# One mount, one write and one read, for the test to look at on the wire.
head -c 100000 /dev/urandom >/tmp/data
dd if=/tmp/data of=$M/data bs=65536 conv=fsync status=none
fresh $M
cmp /tmp/data $M/data
ls -l $M

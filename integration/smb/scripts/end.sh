# The end of every workload: a client that says good-bye. It closes its connections some time after the last umount.
cd /
took umount umount -a -t cifs
closed() { for _ in {1..100}; do [ -n "$(ss -Htn state established)" ] || return 0; sleep 0.1; done; ss -tn; return 1; }
took close closed

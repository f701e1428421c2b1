# Ends every workload: unmounts, and waits until the client has closed its connections, which it does some time after the last umount.
cd /
took umount umount -a -t cifs
closed() { for _ in {1..100}; do [ -n "$(ss -Htn state established)" ] || return 0; sleep 0.1; done; ss -tn; return 1; }
took close closed

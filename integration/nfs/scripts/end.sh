# The end of every workload: a client that says good-bye.
cd /
took umount umount -a -t nfs,nfs4

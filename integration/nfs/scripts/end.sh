# Ends every workload: unmounts.
cd /
took umount umount -a -t nfs,nfs4

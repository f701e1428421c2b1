# Links, names, attributes; sparse files, truncation, offsets beyond 4 GiB.
mkdir $M/files
took files "$WORK" files $M/files
took sparse "$WORK" sparse $M/files
fresh $M
took sparse-check "$WORK" sparse-check $M/files

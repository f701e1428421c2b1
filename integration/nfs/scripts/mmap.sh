# Shared mappings in two mounts that know nothing of one another.
mnt /mnt/other nosharecache
took mmap "$WORK" mmap $M /mnt/other

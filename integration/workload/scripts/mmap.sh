# Shared mappings in two mounts without a common cache.
other /mnt/other
took mmap "$WORK" mmap $M /mnt/other

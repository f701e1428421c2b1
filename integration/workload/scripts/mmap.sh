# Shared mappings in two mounts that know nothing of one another.
other /mnt/other
took mmap "$WORK" mmap $M /mnt/other

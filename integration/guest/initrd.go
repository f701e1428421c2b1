package guest

import (
	"bytes"
	"fmt"
)

// initrd returns the initial RAM file system of a QEMU guest: busybox, and init-qemu as /init.
func (c control) initrd() []byte {
	var a archive
	a.add("bin", 0o040755, "")
	a.add("bin/busybox", 0o100755, c.text("busybox"))
	a.add("init", 0o100755, c.text("init-qemu"))
	a.add("TRAILER!!!", 0, "")
	return a.Bytes()
}

// archive is a cpio archive in the newc format (Documentation/driver-api/early-userspace/buffer-format).
type archive struct {
	bytes.Buffer
	entries int
}

// add appends a file that root owns. mode includes the bits of the file type.
func (a *archive) add(name string, mode int, content string) {
	a.entries++
	const uid, gid, links, mtime, dev, check = 0, 0, 1, 0, 0, 0
	fmt.Fprintf(a, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00", a.entries, mode, uid, gid, links, mtime,
		len(content), dev, dev, dev, dev, len(name)+1, check, name)
	a.pad()
	a.WriteString(content)
	a.pad()
}

// pad aligns to 4 bytes. Every header and every content begins so.
func (a *archive) pad() {
	for a.Len()%4 != 0 {
		a.WriteByte(0)
	}
}

// Package namespace is a share's tree as SMB clients see it, over a [vfs.FS] that knows neither
// case-insensitive names nor DOS attributes.
//
// # Names
//
// A path is `a\b\c`, relative to the share ([Parse]). What Windows forbids in names, Linux and macOS
// clients send as characters of a private use area ("Services for Macintosh", U+F001 to U+F029): on disk they are
// the plain characters, and on the wire they are mapped again ([AppendName]), so that a file
// called "a:b" by NFS is there for everybody.
//
// Names keep their case, and are found in any: exactly if that is there, otherwise by the folded form, of
// which there is one table per directory ([View.Walk]). If a directory has several names that
// fold to the same, the exact one wins; otherwise the first in the directory's order.
//
// For names that are not of 8.3 characters such are made up ([ShortName]), and lead to the same object after nothing
// else is found ([View.Walk]).
//
// # Streams
//
// A name may go on with that of a stream: "file:stream:$DATA". Named streams are kept as extended attributes of their
// file or directory ([ListStreams], [LoadStream], [StoreStream]), in the form that Samba's module streams_xattr has: what one of the
// two servers wrote the other finds. So a stream is as long as an attribute at most, and some file systems
// have room for less: ext4 for 4 KiB of all a file's attributes. NFS clients see them as the attributes they are.
//
// # Symbolic links
//
// A link whose target is relative and stays inside the share is followed by the server, as Windows
// clients do not follow links of servers unless told to. Every step is a lookup from the share's
// root, so a link cannot lead out of it; ".." counts from where the link is. Any other link (absolute,
// leaving the share, dangling, or one of too many) is reported: the walk stops with
// STATUS_STOPPED_ON_SYMLINK, and Linux clients show it as the link it is. The link itself is opened with
// FILE_OPEN_REPARSE_POINT. A name that ends at a followed link stays the link's name: to delete
// or rename it concerns the link. Clients with POSIX extensions follow links themselves ([NoLinks]).
//
// # Attributes
//
// DOS attributes and the time of creation are kept in one extended attribute ([Meta]), where
// they differ from what a file system tells by itself.
package namespace

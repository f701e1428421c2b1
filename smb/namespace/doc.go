// Package namespace is a share's tree as SMB clients see it, over a [vfs.FS] that knows neither
// case-insensitive names nor DOS attributes.
//
// # Names
//
// A path is `a\b\c`, relative to the share ([Parse]). What Windows forbids in names, Linux and macOS
// clients send as characters of a private use area ("Services for Macintosh", U+F001 to U+F029): on disk they are
// the plain characters, and on the wire they are mapped again ([AppendName]), so that a file
// that an NFS client has called "a:b" is visible to all clients.
//
// Names keep their case, and are found in any case ([View.Walk]): by the exact name first, then by the folded form, in a
// table per directory. If several names in a directory fold to the same form and none is exact, the first one in the
// directory's order wins.
//
// A name that is not of the 8.3 form has a generated short name ([ShortName]). It leads to the same object if no other name
// matches ([View.Walk]).
//
// # Streams
//
// A name may end with the name of a stream: "file:stream:$DATA". Named streams are extended attributes of their file or
// directory ([ListStreams], [LoadStream], [StoreStream]) in the form of Samba's module streams_xattr, so each of the two
// servers finds the streams of the other. A stream is at most as long as an attribute. Some file systems have less room:
// ext4 has 4 KiB for all attributes of a file. NFS clients see streams as extended attributes.
//
// # Symbolic links
//
// A link whose target is relative and stays inside the share is followed by the server, as Windows
// clients do not follow links of servers unless told to. Every step is a lookup from the share's
// root, so a link cannot lead out of it; ".." is relative to the link's directory. Any other link (absolute,
// leaving the share, dangling, or one of too many) is reported: the walk stops with
// STATUS_STOPPED_ON_SYMLINK, and Linux clients show it as the link it is. The link itself is opened with
// FILE_OPEN_REPARSE_POINT. A name that ends at a followed link stays the link's name: to delete
// or rename it concerns the link. Clients with POSIX extensions follow links themselves ([NoLinks]).
//
// # Attributes
//
// DOS attributes and the time of creation are kept in one extended attribute ([Meta]) if they differ from the values that
// the file system itself provides.
package namespace

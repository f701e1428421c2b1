// Package smbtest lets tests of the server use the [client.Machine] of
// [fileserver/smb/client]: an error fails the test, and the test may change every
// message before it is sent. [Pipe] is an in-process transport, with RDMA if wanted.
package smbtest

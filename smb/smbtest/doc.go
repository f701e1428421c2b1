// Package smbtest puts the machine of [fileserver/smb/client] in the hands of a test:
// failures are the test's, and every message can be changed on its way. It has an
// in-process transport with RDMA, too.
package smbtest

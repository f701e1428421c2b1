// Package smbtest is a small SMB client for tests of the server, with the whole wire
// in the test's hands, and an in-process transport with RDMA for it.
package smbtest

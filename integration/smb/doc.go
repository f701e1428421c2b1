// Package smb tests the server with real SMB clients: Linux's cifs in guests (packages guest and workload), over SMB Direct on soft
// iWARP and over TCP; Samba's smbclient and smbtorture; and go-smb2 over TCP and over SMB Direct.
//
// To add a workload, write scripts/NAME.sh, here or in package workload, and add a line to TestWorkloads.
//
// Besides the environment variables of package workload there is one for debugging:
//
//	FILESERVER_GUEST_SERVER=samba  runs the tests against Samba's smbd over TCP, as far as possible; needs Debian's samba
package smb

// Package smb lets real SMB clients work with the server: Linux' cifs in guests (packages guest and workload), over SMB Direct on soft
// iWARP and over TCP, smbclient and smbtorture of Samba, and go-smb2 over TCP and over SMB Direct.
//
// To add a workload, write scripts/NAME.sh, here or in package workload, and add a line to TestWorkloads.
//
// Besides the environment variables of package workload there is, for people who look for a fault,
//
//	FILESERVER_GUEST_SERVER=samba  runs what can be run against Samba's smbd, over TCP, to compare; it needs Debian's samba
package smb

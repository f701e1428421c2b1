// Package servers puts `fileserver bench` in front of servers that are not ours, in a
// guest: Linux's knfsd and ksmbd, over TCP and over siw.
package servers

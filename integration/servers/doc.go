// Package servers tests `fileserver bench` in a guest against other servers: Linux's
// knfsd and ksmbd, over TCP and over siw.
package servers

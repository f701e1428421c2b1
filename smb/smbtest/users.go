package smbtest

import (
	"strings"

	"fileserver/internal/users"
	"fileserver/smb/ntlm"
)

// Users are the users of a server, by name in lower case.
type Users map[string]users.User

// User returns one user with a password, whose UID is 0.
func User(name, password string) Users {
	return Users{strings.ToLower(name): {Name: name, NTHash: ntlm.NTHash(password)}}
}

// Lookup returns a user by name, regardless of case.
func (u Users) Lookup(name string) (users.User, bool, error) {
	found, ok := u[strings.ToLower(name)]
	return found, ok, nil
}

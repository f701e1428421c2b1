package smbtest

import (
	"strings"

	"fileserver/internal/users"
	"fileserver/smb/ntlm"
)

// Users are the users of a server, by name in small letters.
type Users map[string]users.User

// User is one user with a password, who is root.
func User(name, password string) Users {
	return Users{strings.ToLower(name): {Name: name, NTHash: ntlm.NTHash(password)}}
}

// Lookup finds a user.
func (u Users) Lookup(name string) (users.User, bool, error) {
	found, ok := u[strings.ToLower(name)]
	return found, ok, nil
}

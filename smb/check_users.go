package smb

import (
	"maps"
	"slices"
)

// CheckUsers ends the sessions of users who were removed, whose password changed, or whose identity on the file
// system is not the one that they logged in with. The caller calls it when the users may have changed. If the users
// cannot be read, the sessions stay.
func (s *Server) CheckUsers() {
	s.mu.Lock()
	sessions := slices.Collect(maps.Values(s.sessions))
	s.mu.Unlock()
	for _, ss := range sessions {
		if !ss.current() {
			s.cfg.Logger.Info("smb: session ends: the user is gone or has changed", "user", ss.who().Name)
			ss.end(s.ctx)
		}
	}
}

// current reports whether the session's user is still as it was when it logged in.
func (s *Session) current() bool {
	i := s.who()
	if !i.authenticated() {
		return true
	}
	u, ok, err := s.srv.cfg.Users.Lookup(i.Name)
	if err != nil {
		return true
	}
	return ok && u.NTHash == i.hash && u.UID == i.Cred.UID && u.GID == i.Cred.GID && slices.Equal(u.Groups, i.Cred.Groups)
}

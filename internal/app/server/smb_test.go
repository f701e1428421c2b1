package server

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	smb2 "github.com/hirochachacha/go-smb2"

	"fileserver/config"
	"fileserver/internal/users"
	"fileserver/smb/ntlm"
)

const smbYAML = "shares: {data: {path: data}, secret: {path: data, smb: {encrypt: true}}, hidden: {path: data, smb: {enabled: false}}}\n" +
	"nfs: {port: 0, rdma_port: 0}\nsmb: {port: 0, rdma_port: 0}\n"

// addUser adds a user with the uid and gid of this process.
func addUser(t *testing.T, cfg *config.Config) {
	t.Helper()
	u := users.User{Name: "ann", NTHash: ntlm.NTHash("secret"), UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
	if err := users.Open(cfg.StateDir).Add(u); err != nil {
		t.Fatal(err)
	}
}

func login(t *testing.T, addr, password string) (*smb2.Session, error) {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	d := smb2.Dialer{Initiator: &smb2.NTLMInitiator{User: "ann", Password: password}}
	return d.Dial(nc)
}

func TestSMB(t *testing.T) {
	cfg := configure(t, smbYAML)
	addUser(t, cfg)
	s, out := start(t, cfg)
	addr := out.Addr(t, "smb", "tcp").String()
	session, err := login(t, addr, "secret")
	if err != nil {
		t.Fatal(err)
	}
	share, err := session.Mount("data")
	if err != nil {
		t.Fatal(err)
	}
	if err := share.WriteFile("file", []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(cfg.Shares[0].Path, "file")); err != nil || string(b) != "hello" {
		t.Errorf("%q %v", b, err)
	}
	if _, err := session.Mount("hidden"); err == nil {
		t.Error("a share that SMB does not have was mounted")
	}
	if _, err := login(t, addr, "wrong"); err == nil {
		t.Error("logged in with a wrong password")
	}
	// A user added while the server runs.
	if err := users.Open(cfg.StateDir).Update("ann", func(u *users.User) { u.NTHash = ntlm.NTHash("other") }); err != nil {
		t.Fatal(err)
	}
	if session, err = login(t, addr, "other"); err != nil {
		t.Fatalf("after a change of the password: %v", err)
	}
	if share, err = session.Mount("data"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"protocol=smb", `msg="smb: session"`, `msg="smb: login failed"`, "service=smb transport=iwarp"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log has no %s", want)
		}
	}
	// A share that is the same after a reload stays mounted.
	s.Reload(cfg)
	if _, err := share.Stat("file"); err != nil {
		t.Errorf("after a reload: %v", err)
	}
	without := *cfg
	without.Shares = slices.DeleteFunc(slices.Clone(cfg.Shares), func(s config.Share) bool { return s.Name == "data" })
	s.Reload(&without)
	if _, err := share.Stat("file"); err == nil {
		t.Error("a share that is gone is served")
	}
}

// Sessions end soon after their user is removed or the password changes, without a signal, and at once with SIGHUP.
func TestSMBUserChanges(t *testing.T) {
	for name, change := range map[string]func(*users.Store) error{
		"removed": func(s *users.Store) error { return s.Remove("ann") },
		"password": func(s *users.Store) error {
			return s.Update("ann", func(u *users.User) { u.NTHash = ntlm.NTHash("other") })
		},
	} {
		for _, reload := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, reload %v", name, reload), func(t *testing.T) {
				cfg := configure(t, smbYAML)
				addUser(t, cfg)
				s, out := start(t, cfg)
				session, err := login(t, out.Addr(t, "smb", "tcp").String(), "secret")
				if err != nil {
					t.Fatal(err)
				}
				share, err := session.Mount("data")
				if err != nil {
					t.Fatal(err)
				}
				if err := change(users.Open(cfg.StateDir)); err != nil {
					t.Fatal(err)
				}
				if reload {
					s.Reload(cfg)
					if _, err = share.Stat(""); err == nil {
						t.Error("the session goes on after a reload")
					}
				}
				for end := time.Now().Add(time.Minute); err == nil && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
					_, err = share.Stat("")
				}
				if err == nil {
					t.Error("the session goes on for a minute")
				}
			})
		}
	}
}

// Without users SMB is off, unless smb.enabled is true. A port that cannot be opened stops nothing else.
func TestSMBAuto(t *testing.T) {
	_, out := start(t, configure(t, smbYAML))
	if !strings.Contains(out.String(), "smb is not served: there are no users") || strings.Contains(out.String(), "service=smb") {
		t.Error("SMB is served without users")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_, out = start(t, configure(t, strings.Replace(smbYAML, "smb: {port: 0", "smb: {enabled: true, port: "+port, 1)))
	for _, want := range []string{"smb over tcp", "another program listens there", "service=smb transport=iwarp", "service=nfs transport=tcp"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log has no %q", want)
		}
	}
}

func TestSMBAlone(t *testing.T) {
	_, out := start(t, configure(t, "shares: {data: {path: data}}\nnfs: {enabled: false}\niwarp: {enabled: false}\nsmb: {enabled: true, port: 0}\n"))
	if s := out.String(); strings.Contains(s, "service=nfs") || strings.Contains(s, "iwarp") || !strings.Contains(s, "service=smb transport=tcp") {
		t.Error("what is served is not what was configured")
	}
}

// TestConnectionMemory checks the limits in the configuration of the SMB server.
func TestConnectionMemory(t *testing.T) {
	cfg := configure(t, smbYAML+"limits: {connection_memory: 3MiB}\n")
	s, _ := start(t, cfg)
	if got, err := s.smbConfig(users.Open(cfg.StateDir)); err != nil || got.MaxHeld != 3<<20 {
		t.Errorf("the calls of one connection hold %d bytes, %v", got.MaxHeld, err)
	}
}

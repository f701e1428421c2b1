package smb

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hirochachacha/go-smb2"

	conf "fileserver/integration/samba"
	"fileserver/integration/workload"
	"fileserver/internal/logbuf"
	"fileserver/smb/crypt"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// newSamba starts the system's smbd on this machine's loopback and returns its address. smbd has the user User, who is root there, and
// the share "data". It answers READ, WRITE and FLUSH without interim responses. These are not signed, and a go-smb2 that signs refuses
// them.
func newSamba(ctx context.Context, t *testing.T) string {
	t.Helper()
	smbd := sambaProgram(t, "smbd")
	dir, data := t.TempDir(), t.TempDir()
	port := freePort(t)
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	c := conf.Config{
		Dir: dir, Port: n, Share: data, Global: "  server min protocol = SMB2_02\n",
		Data: "  aio read size = 0\n  aio write size = 0\n  strict sync = no\n",
	}
	file, err := c.Write(dir, User)
	if err != nil {
		t.Fatal(err)
	}
	add := exec.CommandContext(ctx, "smbpasswd", "-c", file, "-a", "-s", "root")
	add.Stdin = strings.NewReader(Password + "\n" + Password + "\n")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("smbpasswd: %v\n%s", err, out)
	}
	var out logbuf.Buffer
	cmd := exec.Command(smbd, "-F", "--no-process-group", "-s", file)
	cmd.Stdout, cmd.Stderr = &out, &out
	conf.Prepare(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		conf.Stop(cmd, ended)
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Logf("smbd's log:\n%s%s", out.String(), log)
		}
	})
	addr := "127.0.0.1:" + port
	for {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			return addr
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("smbd ended: %v\n%s", err, out.String())
		case <-ctx.Done():
			t.Fatalf("smbd does not listen: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// protection is a dialect with a signing algorithm and a cipher.
type protection struct {
	dialect wire.Dialect
	sign    crypt.Algorithm // the only one that the client offers, with 3.1.1
	cipher  crypt.Cipher    // likewise; NoCipher: nothing is encrypted
}

func protections() (list []protection) {
	for _, d := range []wire.Dialect{wire.Dialect202, wire.Dialect210} {
		list = append(list, protection{dialect: d, sign: crypt.HMACSHA256})
	}
	for _, d := range []wire.Dialect{wire.Dialect300, wire.Dialect302} {
		list = append(list, protection{dialect: d, sign: crypt.AESCMAC, cipher: crypt.CCM128})
	}
	for _, a := range []crypt.Algorithm{crypt.HMACSHA256, crypt.AESCMAC, crypt.AESGMAC} {
		for _, c := range []crypt.Cipher{crypt.NoCipher, crypt.CCM128, crypt.GCM128, crypt.CCM256, crypt.GCM256} {
			list = append(list, protection{dialect: wire.Dialect311, sign: a, cipher: c})
		}
	}
	return list
}

// connect negotiates the protection with a server and logs on. With bind it binds the connection to the session of that client.
func (w protection) connect(t *testing.T, addr string, bind *smbtest.Client) *smbtest.Client {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	c := smbtest.NewClient(t, smbtest.Over(nc))
	t.Cleanup(c.W.Close)
	if w.cipher != crypt.NoCipher {
		c.Ciphers = []crypt.Cipher{w.cipher}
	}
	if w.dialect == wire.Dialect311 {
		c.SignAlgs = []crypt.Algorithm{w.sign}
	}
	c.Connect(w.dialect)
	if c.Dialect != w.dialect || c.Signing() != w.sign || c.Cipher != w.cipher {
		t.Fatalf("the server chose %v, %v, %v", c.Dialect, c.Signing(), c.Cipher)
	}
	if st, _ := c.Login(User, Password, smbtest.Setup{Bind: bind}); st != wire.StatusSuccess {
		t.Fatalf("login: %v", st)
	}
	if bind != nil {
		c.TreeID = bind.TreeID
		return c
	}
	c.Tree(`\\127.0.0.1\data`, wire.StatusSuccess)
	return c
}

// TestSamba runs our client against Samba's server, with every signing algorithm and every cipher, on one channel and on two.
func TestSamba(t *testing.T) {
	ctx := workload.Within(t, 2*time.Minute)
	addr := newSamba(ctx, t)
	data := make([]byte, 60_001)
	workload.Fill(data, 1, 0)
	for _, w := range protections() {
		t.Run(fmt.Sprintf("%v %v %v", w.dialect, w.sign, w.cipher), func(t *testing.T) {
			c := w.connect(t, addr, nil)
			clients := []*smbtest.Client{c}
			if w.dialect >= wire.Dialect300 {
				clients = append(clients, w.connect(t, addr, c))
			}
			c.Sign = true
			q := wire.CreateRequest{
				ImpersonationLevel: 2, DesiredAccess: wire.FileReadData | wire.FileWriteData | wire.Delete, Disposition: wire.FileOverwriteIf,
				Options: wire.FileDeleteOnClose, Name: wire.AppendUTF16(nil, "file"),
			}
			created, err := wire.ParseCreateResponse(c.Call(wire.CmdCreate, q.Append, wire.StatusSuccess).Msg)
			if err != nil {
				t.Fatal(err)
			}
			for i, u := range clients {
				for _, u.Encrypt = range []bool{false, true} {
					if u.Encrypt && w.cipher == crypt.NoCipher {
						continue
					}
					u.Sign = !u.Encrypt
					part := data[i*7 : len(data)-i]
					wr := wire.WriteRequest{FileID: created.FileID, Data: part}
					rd := wire.ReadRequest{FileID: created.FileID, Length: uint32(len(part))}
					for range 3 {
						u.Call(wire.CmdWrite, wr.Append, wire.StatusSuccess)
						r := u.Call(wire.CmdRead, rd.Append, wire.StatusSuccess)
						if resp, err := wire.ParseReadResponse(r.Msg); err != nil || !bytes.Equal(resp.Data, part) || r.Sealed != u.Encrypt {
							t.Fatalf("wrong data came back, or without encryption: %v, encrypted %v", err, r.Sealed)
						}
					}
					u.Do(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty}, smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty})
				}
				u.Encrypt, u.Sign = false, true
			}
			c.Call(wire.CmdClose, (&wire.CloseRequest{FileID: created.FileID}).Append, wire.StatusSuccess)
			c.Call(wire.CmdLogoff, smbtest.Empty, wire.StatusSuccess)
		})
	}
}

// TestGoClientOfSamba makes sure that TestGoClient's steps also work with Samba's server.
func TestGoClientOfSamba(t *testing.T) {
	ctx := workload.Within(t, 2*time.Minute)
	addr := newSamba(ctx, t)
	dial := func(t testing.TB) net.Conn {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		return nc
	}
	for _, m := range goModes() {
		if m.cipher != crypt.NoCipher {
			continue // go-smb2 encrypts only if the server requires it
		}
		t.Run(m.name, func(t *testing.T) {
			useGoClient(t, dial, true, &smb2.Dialer{
				MaxCreditBalance: 128,
				Negotiator:       smb2.Negotiator{SpecifiedDialect: m.dialect, RequireMessageSigning: m.sign},
				Initiator:        &smb2.NTLMInitiator{User: User, Password: Password},
			})
		})
	}
}

package smb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hirochachacha/go-smb2"

	"fileserver/integration/workload"
	server "fileserver/smb"
	"fileserver/smb/crypt"
)

// goMode is a dialect and a protection that go-smb2 uses.
type goMode struct {
	name    string
	dialect uint16
	sign    bool
	cipher  crypt.Cipher // NoCipher: nothing is encrypted
}

func goModes() []goMode {
	dialects := []struct {
		name string
		id   uint16
	}{{"2.0.2", 0x202}, {"2.1", 0x210}, {"3.0", 0x300}, {"3.0.2", 0x302}, {"3.1.1", 0x311}}
	var modes []goMode
	for _, d := range dialects {
		modes = append(modes, goMode{name: d.name, dialect: d.id}, goMode{name: d.name + " signed", dialect: d.id, sign: true})
		if d.id >= 0x300 {
			modes = append(modes, goMode{name: d.name + " CCM", dialect: d.id, cipher: crypt.CCM128})
		}
		if d.id == 0x311 {
			modes = append(modes, goMode{name: d.name + " GCM", dialect: d.id, cipher: crypt.GCM128})
		}
	}
	return modes
}

// TestGoClient runs go-smb2 over TCP and over SMB Direct, with all its dialects and ciphers, with few credits and with many.
func TestGoClient(t *testing.T) {
	for _, m := range goModes() {
		s := newInProcess(t, func(c *server.Config) {
			if m.cipher != crypt.NoCipher {
				c.Encryption, c.Ciphers = server.Required, []crypt.Cipher{m.cipher}
			}
		})
		transports := []struct {
			name string
			dial dialer
		}{{"tcp", s.overTCP()}, {"mem", s.overMem()}, {"iwarp", s.overIWARP()}}
		for _, tr := range transports {
			for _, credits := range []uint16{1, 16, 128} {
				t.Run(fmt.Sprintf("%s/%s/%d", m.name, tr.name, credits), func(t *testing.T) {
					// In dialects with credit charges it requests listings of 1 MiB even if it has too few credits.
					listings := credits >= 16 || m.dialect == 0x202
					useGoClient(t, tr.dial, listings, &smb2.Dialer{
						MaxCreditBalance: credits,
						Negotiator:       smb2.Negotiator{SpecifiedDialect: m.dialect, RequireMessageSigning: m.sign},
						Initiator:        &smb2.NTLMInitiator{User: User, Password: Password},
					})
				})
			}
		}
	}
}

// useGoClient sets up a session, uses it, and ends it.
func useGoClient(t *testing.T, dial dialer, listings bool, d *smb2.Dialer) {
	conn := dial(t)
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	session, err := d.Dial(conn)
	if err != nil {
		t.Fatal(err)
	}
	share, err := session.Mount("data")
	if err != nil {
		t.Fatal(err)
	}
	if err := goData(share); err != nil {
		t.Errorf("data: %v", err)
	}
	if listings {
		if err := goNames(share); err != nil {
			t.Errorf("names: %v", err)
		}
	}
	if err := errors.Join(share.Umount(), session.Logoff()); err != nil {
		t.Error(err)
	}
}

// goData writes and reads pieces of many lengths. The longest take several requests.
func goData(fs *smb2.Share) error {
	defer fs.Remove("data")
	f, err := fs.Create("data")
	if err != nil {
		return err
	}
	defer f.Close()
	all := make([]byte, 0, 2<<20)
	for _, n := range []int{1, 7, 1000, 1364, 4096, 65535, 65536, 65537, 100_001, 1<<20 + 1} {
		p := make([]byte, n)
		workload.Fill(p, 1, int64(len(all)))
		if _, err := f.WriteAt(p, int64(len(all))); err != nil {
			return fmt.Errorf("write of %d: %w", n, err)
		}
		p = p[:n:n]
		clear(p)
		if _, err := f.ReadAt(p, int64(len(all))); err != nil {
			return fmt.Errorf("read of %d: %w", n, err)
		}
		if err := workload.Check(p, 1, int64(len(all))); err != nil {
			return err
		}
		all = append(all, p...)
	}
	// go-smb2 returns nil at the end of the file, where io.ReaderAt requires io.EOF.
	if n, err := f.ReadAt(make([]byte, 10), int64(len(all)-3)); n != 3 || err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read over the end: %d bytes, %v", n, err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	got, err := fs.ReadFile("data")
	if err != nil || !bytes.Equal(got, all) {
		return fmt.Errorf("%d bytes of %d read: %v", len(got), len(all), err)
	}
	if err := fs.Truncate("data", 12345); err != nil {
		return err
	}
	if got, err = fs.ReadFile("data"); err != nil || !bytes.Equal(got, all[:12345]) {
		return fmt.Errorf("%d bytes read after truncation: %v", len(got), err)
	}
	return goCopy(fs, all[:12345])
}

// goCopy copies a file within the server.
func goCopy(fs *smb2.Share, data []byte) error {
	from, err := fs.Open("data")
	if err != nil {
		return err
	}
	defer from.Close()
	defer fs.Remove("copy")
	to, err := fs.Create("copy")
	if err != nil {
		return err
	}
	defer to.Close()
	if _, err := to.ReadFrom(from); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	got, err := fs.ReadFile("copy")
	if err != nil || !bytes.Equal(got, data) {
		return fmt.Errorf("copy of %d bytes has %d: %v", len(data), len(got), err)
	}
	return nil
}

// goNames creates, lists, renames and removes files.
func goNames(fs *smb2.Share) error {
	if err := fs.MkdirAll(`dir\sub`, 0o755); err != nil {
		return err
	}
	defer fs.RemoveAll("dir")
	var want []string
	for i := range 40 {
		name := fmt.Sprintf("Näme %03d%s", i, strings.Repeat("x", i*5))
		if err := fs.WriteFile(`dir\sub\`+name, []byte(name), 0o644); err != nil {
			return err
		}
		want = append(want, name)
	}
	if err := goListed(fs, want); err != nil {
		return err
	}
	if got, err := fs.ReadFile(`DIR\SUB\NÄME 003XXXXXXXXXXXXXXX`); err != nil || string(got) != want[3] {
		return fmt.Errorf("in another case: %q, %v", got, err)
	}
	if err := fs.Rename(`dir\sub\`+want[0], `dir\sub\renamed`); err != nil {
		return err
	}
	if err := fs.Rename(`dir\sub\`+want[1], `dir\sub\renamed`); !os.IsExist(err) {
		return fmt.Errorf("rename over a name: %v", err)
	}
	if err := fs.Remove(`dir\sub\` + want[2]); err != nil {
		return err
	}
	then := time.Date(2001, 2, 3, 4, 5, 6, 700, time.UTC)
	if err := fs.Chtimes(`dir\sub\renamed`, then, then); err != nil {
		return err
	}
	info, err := fs.Stat(`dir\sub\renamed`)
	if err != nil || !info.ModTime().Equal(then) || info.Size() != int64(len(want[0])) || info.IsDir() {
		return fmt.Errorf("stat: %+v, %v", info, err)
	}
	if st, err := fs.Statfs(""); err != nil || st.TotalBlockCount() == 0 {
		return fmt.Errorf("statfs: %v", err)
	}
	if err := goListed(fs, append(slices.Clone(want[3:]), "renamed", want[1])); err != nil {
		return err
	}
	if err := fs.RemoveAll("dir"); err != nil {
		return err
	}
	if _, err := fs.Stat("dir"); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("stat of what was removed: %v", err)
	}
	return nil
}

func goListed(fs *smb2.Share, want []string) error {
	infos, err := fs.ReadDir(`dir\sub`)
	if err != nil {
		return err
	}
	var got []string
	for _, i := range infos {
		got = append(got, i.Name())
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("lists %q, want %q", got, want)
	}
	return nil
}

package smb

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fileserver/integration/workload"
)

// TestSmbclientAlgorithms runs smbclient with every signing algorithm, without encryption and with every cipher. The server's log
// must name the algorithm and the cipher.
func TestSmbclientAlgorithms(t *testing.T) {
	smbclient := sambaProgram(t, "smbclient")
	ctx := workload.Within(t, 3*time.Minute)
	l := newLocal(ctx, t)
	here := t.TempDir()
	data := make([]byte, 9<<20+1) // larger than the largest WRITE and READ
	workload.Fill(data, 1, 0)
	if err := os.WriteFile(filepath.Join(here, "data"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, sign := range []string{"HMAC-SHA256", "AES-CMAC", "AES-GMAC"} {
		for _, cipher := range []string{"", "AES-128-CCM", "AES-128-GCM", "AES-256-CCM", "AES-256-GCM"} {
			t.Run(sign+" "+cipher, func(t *testing.T) {
				option := map[string]string{"HMAC-SHA256": "hmac-sha256", "AES-CMAC": "aes-128-cmac", "AES-GMAC": "aes-128-gmac"}[sign]
				args := []string{
					"--configfile=/dev/null", "-p", l.Port, "-U", User + "%" + Password, "-m", "SMB3_11", "--client-protection=sign",
					"--option=client smb3 signing algorithms=" + option,
				}
				want := fmt.Sprintf("signing=%q", "required, "+sign)
				if cipher != "" {
					args = append(args, "--client-protection=encrypt", "--option=client smb3 encryption algorithms="+strings.ToLower(cipher))
					want = "the client encrypts\" "
				}
				mark := len(l.Log())
				cmd := exec.CommandContext(ctx, smbclient, append(args, "//127.0.0.1/data", "-c", "put data there; get there back; del there; mkdir d; ls; rmdir d")...)
				cmd.Dir = t.TempDir()
				if err := os.Link(filepath.Join(here, "data"), filepath.Join(cmd.Dir, "data")); err != nil {
					t.Fatal(err)
				}
				if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("NT_STATUS")) {
					t.Fatalf("smbclient: %v\n%s", err, out)
				}
				if got, err := os.ReadFile(filepath.Join(cmd.Dir, "back")); err != nil || !bytes.Equal(got, data) {
					t.Errorf("%d bytes came back, or wrong ones: %v", len(got), err)
				}
				said := l.Log()[mark:]
				if !strings.Contains(said, want) || !strings.Contains(said, sign) || cipher != "" && !strings.Contains(said, "cipher="+cipher) {
					t.Errorf("the server's log does not have %s with %s %s:\n%s", want, sign, cipher, said)
				}
			})
		}
	}
}

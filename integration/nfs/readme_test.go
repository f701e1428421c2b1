package nfs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"fileserver/integration/guest"
	"fileserver/integration/workload"
)

// mountLine matches the mount commands in documents.
var mountLine = regexp.MustCompile(`mount -t (?:nfs|cifs) -o \S+ \S+ [^\s` + "`" + `]+`)

// TestReadme runs every mount command of README.md unchanged, on a client that knows the server as "server".
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := mountLine.FindAllString(string(text), -1)
	slices.Sort(lines)
	if lines = slices.Compact(lines); len(lines) < 4 {
		t.Fatalf("mount lines of README.md: %q", lines)
	}
	script := ""
	for _, l := range lines {
		script += "line " + l + "\n"
	}
	ctx := workload.Within(t, 10*time.Minute)
	r := newReadmeRig(t)
	r.Serve(ctx, t, "2049", r.argv...)
	res := r.bootScript(t, script).Check(ctx, t)
	if n := strings.Count(res.Output, "works: mount "); n != len(lines) {
		t.Errorf("only %d of %d lines work", n, len(lines))
	}
	t.Log(res.Output)
}

// TestReservedPorts mounts from a port that is not reserved, as a user's program would. A server that believes the caller's uid
// refuses it at once, and its log names the setting. Mounts over RDMA work, because clients have no reserved ports there.
func TestReservedPorts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a server without root does not believe the caller's uid")
	}
	ctx := workload.Within(t, 10*time.Minute)
	r := newReadmeRig(t)
	r.Serve(ctx, t, "2049", r.argv...)
	r.bootScript(t, `
refused "not permitted" mount -t nfs -o noresvport,vers=4.2 server:/data /mnt
refused "not permitted" mount -t nfs -o noresvport,vers=4.1 server:/data /mnt
refused "access denied" mount -t nfs -o noresvport,vers=3,proto=tcp,port=2049,mountport=2049,mountproto=tcp,nolock server:/data /mnt
line mount -t nfs -o resvport,vers=4.2 server:/data /mnt
line mount -t nfs -o rdma,noresvport,port=20049,vers=4.2 server:/data /mnt
`).Check(ctx, t)
	if out := r.Server.Output(); !strings.Contains(out, "set nfs.privileged_ports: false") {
		t.Errorf("the server's log does not name the setting:\n%s", out)
	}
}

// readmeRig is a server of NFS and SMB with the user ann, as in README.md.
type readmeRig struct {
	*workload.Rig
	argv []string
}

const annsPassword = "secret"

func newReadmeRig(t *testing.T) *readmeRig {
	t.Helper()
	r := &readmeRig{Rig: workload.NewRig(t)}
	bin, err := programs.Dir()
	if err != nil {
		t.Fatal(err)
	}
	r.Share(t)
	state, server := t.TempDir(), filepath.Join(bin, "fileserver")
	add := exec.Command(server, "user", "add", "--state-dir", state, "--uid", "1000", "--gid", "1000", "ann")
	add.Stdin = strings.NewReader(annsPassword + "\n")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("user add: %v\n%s", err, out)
	}
	r.argv = []string{
		server, "serve", "--share", "data=" + r.Dir, "--listen", r.Host.Listen(), "--allow", r.Host.Clients(), "--state-dir", state,
	}
	return r
}

// bootScript starts a client with an RDMA device, which runs shell commands. Two are defined: "line MOUNT..." mounts, checks the
// transport, writes and reads; "refused WORDS COMMAND..." wants the command to fail with a message that contains the words.
func (r *readmeRig) bootScript(t *testing.T, commands string) *guest.Guest {
	t.Helper()
	const lib = `
echo "$SERVER server" >>/etc/hosts
network 2049
line() {
  local options=$5 seen n
  timeout 100 "$@" </dev/null || { echo "fails: $*"; return 1; }
  seen=$(awk '$2 == "/mnt" { line = $4 } END { print line }' /proc/mounts)
  case "$3:,$options," in
  nfs:*,rdma,*) [[ ,$seen, == *,proto=rdma,* ]] ;;
  nfs:*) [[ ,$seen, == *,proto=tcp,* ]] ;;
  cifs:*,rdma,*) [[ ,$seen, == *,rdma,* ]] ;;
  cifs:*) [[ ,$seen, != *,rdma,* ]] ;;
  esac || { echo "mounted with other options: $seen: $*"; return 1; }
  n=$RANDOM$RANDOM
  echo "$*" >"/mnt/$n"
  [ "$(cat "/mnt/$n")" = "$*" ]
  rm "/mnt/$n"
  umount /mnt
  echo "works: $*"
}
refused() {
  local words=$1 said
  shift
  if said=$(timeout 60 "$@" 2>&1 </dev/null); then echo "not refused: $*"; return 1; fi
  [[ $said == *"$words"* ]] || { echo "$*: $said"; return 1; }
  echo "refused: $*: $said"
}
`
	own := fstest.MapFS{
		"scripts/lib.sh": {Data: []byte(lib)}, "scripts/lines.sh": {Data: []byte(commands)}, "scripts/end.sh": {Data: []byte("cd /\n")},
	}
	env := []string{"FS=nfs", "SERVER=" + r.Host.Addr(), "PROTO=rdma", "PASSWD=" + annsPassword, "WORK=" + r.argv[0]}
	return r.Boot(t, own, "lines", env, guest.Config{})
}

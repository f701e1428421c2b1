package doctor

import (
	"net/netip"
	"slices"
)

// Schema is the version of the JSON that reports are written as. Fields may be added without a new one.
const Schema = 1

// Severity says how much a finding matters.
type Severity string

// Severities, least first.
const (
	OK      Severity = "ok"
	Info    Severity = "info"
	Warning Severity = "warning" // works, but without the RDMA that it could have
	Error   Severity = "error"   // does not work as configured
)

var severities = []Severity{OK, Info, Warning, Error}

func (s Severity) rank() int { return slices.Index(severities, s) }

// ExitStatus is the exit status of the command: 0 for ok and info, 1 for warnings, 2 for errors.
func (s Severity) ExitStatus() int { return max(0, s.rank()-1) }

// Side is where a command is typed.
type Side string

// The sides.
const (
	OnServer  Side = "server"
	OnClient  Side = "client"  // a Linux client
	OnWindows Side = "windows" // a Windows client, in PowerShell
)

// Step is something to type.
type Step struct {
	On      Side   `json:"on"`
	Command string `json:"command"`
	Note    string `json:"note,omitempty"` // when, or what for
}

// Finding is one thing found.
type Finding struct {
	Severity  Severity `json:"severity"`
	Code      string   `json:"code"` // says what kind of finding it is; stable
	Interface string   `json:"interface,omitempty"`
	Service   string   `json:"service,omitempty"` // "nfs" or "smb"; empty: neither, or both
	What      string   `json:"what"`
	Why       string   `json:"why,omitempty"`
	Do        []Step   `json:"do,omitempty"`
}

// Way is one way in which clients can use RDMA.
type Way struct {
	// Provider is "iwarp", in software in this server, for clients with siw or an iWARP adapter; or "verbs", a device of this machine.
	Provider  string   `json:"provider"`
	Transport string   `json:"transport"`        // "iwarp", "roce" or "infiniband"
	Device    string   `json:"device,omitempty"` // and port, as in `rdma link`: "mlx5_0/1"
	Hardware  bool     `json:"hardware"`
	Ports     []uint16 `json:"ports"`
}

// Verdict is whether clients of one service use RDMA on one interface.
type Verdict struct {
	RDMA bool  `json:"rdma"`
	Ways []Way `json:"ways,omitempty"`
	// WhyNot are codes of findings: of its own interface, or of none. An interface that is not set up and has no address
	// has "link-down" here without a finding, and "no-device" may stand alone. With RDMA they tell why not by its device.
	WhyNot []string `json:"why_not,omitempty"`
}

// GID is an entry of a port's table.
type GID struct {
	Index  int    `json:"index"`
	Type   string `json:"type"` // "roce-v1", "roce-v2", "ib", "iwarp"
	GID    string `json:"gid"`
	Netdev string `json:"netdev,omitempty"`
}

// Device is a port of an RDMA device below an interface.
type Device struct {
	Name       string            `json:"name"` // and port: "mlx5_0/1"
	Driver     string            `json:"driver,omitempty"`
	Software   bool              `json:"software"`
	Transport  string            `json:"transport"`
	State      string            `json:"state"` // "active", "down", "init", "armed"
	PhysState  string            `json:"phys_state,omitempty"`
	Rate       uint64            `json:"rate_bits_per_second,omitempty"`
	ActiveMTU  int               `json:"active_mtu_bytes,omitempty"`
	GIDs       []GID             `json:"gids,omitempty"`
	Counters   map[string]uint64 `json:"counters,omitempty"`
	HWCounters map[string]uint64 `json:"hw_counters,omitempty"`
}

// Interface is what is found of a network interface.
type Interface struct {
	Name      string         `json:"name"`
	Index     int            `json:"index"`
	Kind      string         `json:"kind"` // "physical", "bridge", "vlan", "bond", "ipoib", "veth", …
	Driver    string         `json:"driver,omitempty"`
	Running   bool           `json:"running"`
	OperState string         `json:"operstate"`
	MTU       int            `json:"mtu_bytes"`
	Speed     uint64         `json:"speed_bits_per_second,omitempty"`
	Addrs     []netip.Prefix `json:"addresses,omitempty"`
	Below     []string       `json:"below,omitempty"` // interfaces that it is stacked on
	Devices   []Device       `json:"devices,omitempty"`
	NFS       Verdict        `json:"nfs"`
	SMB       Verdict        `json:"smb"`
	Client    []Step         `json:"client,omitempty"` // how clients mount through it
}

// Report is all that was found.
type Report struct {
	Schema     int         `json:"schema"`
	Status     Severity    `json:"status"` // the worst of the findings
	Interfaces []Interface `json:"interfaces"`
	Findings   []Finding   `json:"findings"` // worst first
}

// finish sorts the findings.
func (r *Report) finish() {
	r.Schema, r.Status = Schema, OK
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return b.Severity.rank() - a.Severity.rank() })
	if len(r.Findings) > 0 {
		r.Status = r.Findings[0].Severity
	}
}

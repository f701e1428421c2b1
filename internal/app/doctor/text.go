package doctor

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// width is that of the text, columns.
const width = 100

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	t := &text{}
	var idle []string
	for i := range r.Interfaces {
		n := &r.Interfaces[i]
		if !n.Running && len(n.Addrs) == 0 && len(n.Devices) == 0 {
			idle = append(idle, n.Name)
			continue
		}
		t.iface(n)
	}
	if len(idle) > 0 {
		t.line("")
		t.wrap("", "Down, and without address and device: "+strings.Join(idle, ", "))
	}
	t.line("")
	for i := range r.Findings {
		t.finding(&r.Findings[i])
	}
	t.clients(r.Interfaces)
	_, err := io.WriteString(w, strings.TrimPrefix(t.b.String(), "\n"))
	return err
}

// text is a text that is being written.
type text struct{ b strings.Builder }

func (t *text) line(s string) {
	t.b.WriteString(strings.TrimRight(s, " "))
	t.b.WriteByte('\n')
}

// wrap writes a paragraph, whose first line begins with head and the others with as much space.
func (t *text) wrap(head, s string) {
	indent := strings.Repeat(" ", utf8.RuneCountInString(head))
	line := head
	empty := true
	for word := range strings.FieldsSeq(s) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			t.line(line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	t.line(line)
}

// iface writes an interface: a line of what it is, and one for each service.
func (t *text) iface(i *Interface) {
	t.line("")
	words := []string{i.Kind}
	if i.Driver != "" {
		words[0] += " (" + i.Driver + ")"
	}
	if len(i.Below) > 0 {
		words = append(words, "on "+strings.Join(i.Below, ", "))
	}
	if i.Running {
		words = append(words, "up")
	} else {
		words = append(words, "down")
	}
	if i.Speed > 0 {
		words = append(words, rate(i.Speed))
	}
	words = append(words, fmt.Sprintf("MTU %d", i.MTU))
	for _, a := range i.Addrs {
		words = append(words, a.String())
	}
	t.wrap(fmt.Sprintf("%-10s ", i.Name), strings.Join(words, ", "))
	for _, d := range i.Devices {
		t.wrap("    device ", device(&d))
	}
	t.verdict("NFS", &i.NFS)
	t.verdict("SMB", &i.SMB)
}

// device is a line about a port.
func device(d *Device) string {
	s := fmt.Sprintf("%s: %s", d.Name, d.Transport)
	if d.Driver != "" {
		s += " (" + d.Driver + ")"
	}
	s += ", " + d.State
	if d.Rate > 0 && !d.Software {
		s += ", " + rate(d.Rate)
	}
	if d.ActiveMTU > 0 {
		s += fmt.Sprintf(", packets of %d bytes", d.ActiveMTU)
	}
	types := map[string]int{}
	for _, g := range d.GIDs {
		types[g.Type]++
	}
	for _, name := range []string{"roce-v2", "roce-v1"} {
		if types[name] > 0 {
			s += fmt.Sprintf(", %d GIDs of %s", types[name], name)
		}
	}
	return s
}

// rate writes a rate in bit/s.
func rate(n uint64) string {
	if n >= 1e9 {
		return fmt.Sprintf("%g Gbit/s", float64(n)/1e9)
	}
	return fmt.Sprintf("%g Mbit/s", float64(n)/1e6)
}

// verdict writes whether a service has RDMA there.
func (t *text) verdict(name string, v *Verdict) {
	head := "    " + name + " RDMA "
	if !v.RDMA {
		t.wrap(head+"no   ", strings.Join(v.WhyNot, ", "))
		return
	}
	for n, w := range v.Ways {
		ports := strings.Trim(strings.ReplaceAll(fmt.Sprint(w.Ports), " ", " and "), "[]")
		s := fmt.Sprintf("iWARP in software, port %s: for clients with siw or an iWARP adapter", ports)
		if w.Provider == "verbs" {
			kind := "by the adapter"
			if !w.Hardware {
				kind = "by the kernel's software"
			}
			s = fmt.Sprintf("%s by %s, port %s: %s", w.Transport, w.Device, ports, kind)
		}
		if n == 0 {
			head += "yes  "
		} else {
			head = strings.Repeat(" ", len(head))
		}
		t.wrap(head, s)
	}
	if len(v.WhyNot) > 0 {
		t.wrap(strings.Repeat(" ", len(head)), "otherwise no: "+strings.Join(v.WhyNot, ", "))
	}
}

// finding writes a finding: what, why, and what to type.
func (t *text) finding(f *Finding) {
	t.wrap(fmt.Sprintf("%-8s", f.Severity), f.What+" ["+f.Code+"]")
	if f.Why != "" {
		t.wrap("        why:  ", f.Why)
	}
	for _, s := range f.Do {
		t.step("        type: ", &s, OnServer)
	}
}

// step writes a command on a line of its own, so that it can be copied, and behind it where and what for.
func (t *text) step(head string, s *Step, usual Side) {
	t.line(head + s.Command)
	var words []string
	if s.On != usual {
		words = append(words, "on the "+string(s.On))
	}
	if s.Note != "" {
		words = append(words, s.Note)
	}
	if len(words) > 0 {
		t.wrap(strings.Repeat(" ", utf8.RuneCountInString(head)+2), "("+strings.Join(words, ": ")+")")
	}
}

// clients writes what to type on clients, for the interface that others reach first.
func (t *text) clients(list []Interface) {
	best := -1
	for n := range list {
		if len(list[n].Client) > 0 && (best < 0 || list[best].Kind == "loopback") {
			best = n
		}
	}
	if best < 0 {
		return
	}
	t.line("")
	t.line("On a client, as root, through " + list[best].Name + ":")
	for n := range list[best].Client {
		if s := &list[best].Client[n]; s.On == OnClient {
			t.step("    ", s, OnClient)
		}
	}
	for n, first := range list[best].Client {
		if first.On == OnWindows && (n == 0 || list[best].Client[n-1].On != OnWindows) {
			t.line("On a client with Windows, in PowerShell:")
		}
		if s := &list[best].Client[n]; s.On == OnWindows {
			t.step("    ", s, OnWindows)
		}
	}
}

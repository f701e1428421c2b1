package doctor

import (
	"fmt"
	"io"
	"strings"
)

// transports are how a connection's line names them.
var transports = map[string]string{"tcp": "TCP", "iwarp": "iWARP in software", "verbs": "RDMA device"}

// WriteText writes the report for people.
func (c *Connection) WriteText(w io.Writer) error {
	t := &text{}
	t.wrap("", fmt.Sprintf("%s: %s", c.Host, strings.Join(c.Addresses, ", ")))
	t.line("")
	for i := range c.Attempts {
		a := &c.Attempts[i]
		t.wrap(fmt.Sprintf("%-8s", a.Severity), fmt.Sprintf("%s, %s, %s: %s%s", strings.ToUpper(a.Service), strings.TrimRight(transports[a.Transport]+" "+a.Device, " "), a.Address, a.What, a.took()))
		if a.SMB != nil {
			t.smb(a.SMB)
		}
		if a.Why != "" {
			t.wrap("        why:  ", a.Why)
		}
		for _, s := range a.Do {
			t.step("        type: ", &s, OnClient)
		}
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

// took is how long an attempt took, and its code where it failed.
func (a *Attempt) took() string {
	switch {
	case a.OK:
		return fmt.Sprintf(" (%.1f ms)", a.Millis)
	case a.Millis == 0:
		return ""
	}
	return " [" + a.Code + "]"
}

// smb writes what was negotiated.
func (t *text) smb(s *SMBAnswer) {
	words := []string{fmt.Sprintf("READ %s, WRITE %s", bytesOf(uint64(s.MaxReadBytes)), bytesOf(uint64(s.MaxWriteBytes)))}
	if s.Encryption != "" {
		words = append(words, "can encrypt by "+s.Encryption)
	}
	if s.Encrypted {
		words = append(words, "the session is encrypted, so its data does not go by RDMA")
	}
	if d := s.Direct; d != nil {
		words = append(words, fmt.Sprintf("SMB Direct: SENDs of %d bytes, %d credits", d.MaxSend, d.Credits))
	}
	t.wrap("        ", strings.Join(words, "; "))
	for _, i := range s.Interfaces {
		line := i.Address + ", " + rate(i.Speed)
		if i.RDMA {
			line += ", RDMA"
		}
		if i.RSS {
			line += ", RSS"
		}
		t.wrap("        interface ", line)
	}
}

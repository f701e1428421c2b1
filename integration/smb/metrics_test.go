package smb

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// metrics returns what the server publishes, by name with labels, without the prefix of all.
func (r *rig) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return r.Host.Dial(metricsPort) }}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get("http://server/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "fileserver_"), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			all[name] = v
		}
	}
	if len(all) == 0 {
		t.Fatal("no metrics")
	}
	return all
}

package smb

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"

	"fileserver/integration/workload"
)

// metrics returns the server's metrics by name with labels. The names lack the prefix that all of them share.
func (r *rig) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return r.Host.Dial(metricsPort) }}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get("http://server/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	all := workload.ParseMetrics(string(text))
	if len(all) == 0 {
		t.Fatal("the server publishes no metrics")
	}
	return all
}

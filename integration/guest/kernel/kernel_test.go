package kernel

import (
	"slices"
	"testing"
)

// TestFragments wants the options that every guest needs in both fragments.
func TestFragments(t *testing.T) {
	for kind, root := range map[string]string{"uml": "CONFIG_HOSTFS=y", "qemu": "CONFIG_9P_FS=y"} {
		text, err := Fragment(kind)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{root, "CONFIG_RDMA_SIW=y", "CONFIG_SUNRPC_XPRT_RDMA=y", "CONFIG_OVERLAY_FS=y"}
		for _, w := range want {
			if !slices.Contains(Missing(text, ""), w) {
				t.Errorf("%s lacks %s", kind, w)
			}
		}
		if m := Missing(text, text); m != nil {
			t.Errorf("%s, compared with itself, lacks %v", kind, m)
		}
	}
	if _, err := Fragment("xen"); err == nil {
		t.Error("an unknown kind was accepted")
	}
	if m := Missing("# x\nCONFIG_A=y\nCONFIG_B=y\n", "CONFIG_A=y\n# CONFIG_B is not set\n"); !slices.Equal(m, []string{"CONFIG_B=y"}) {
		t.Errorf("missing: %v", m)
	}
}

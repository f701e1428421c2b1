package wire

import "testing"

var (
	sessionSetupRequests = []SessionSetupRequest{
		{Flags: SessionFlagBinding, SecurityMode: 1, Capabilities: CapDFS, Channel: 0, PreviousSessionID: 1 << 62, SecurityBuffer: []byte("token")},
		{SecurityMode: 2},
	}
	sessionSetupResponses = []SessionSetupResponse{{Flags: SessionFlagIsGuest, SecurityBuffer: []byte{9}}, {Flags: SessionFlagEncryptData}}
	treeConnectRequests   = []TreeConnectRequest{{Path: name(`\\srv\share`)}, {Flags: TreeConnectClusterReconnect}}
	treeConnectResponses  = []TreeConnectResponse{{ShareType: ShareTypePipe, ShareFlags: ShareFlagEncryptData, Capabilities: ShareCapCluster, MaximalAccess: FileAllAccess}}
)

func TestSessionSetup(t *testing.T) {
	checkMessage(t, ParseSessionSetupRequest, (*SessionSetupRequest).Append, sessionSetupRequests...)
	checkMessage(t, ParseSessionSetupResponse, (*SessionSetupResponse).Append, sessionSetupResponses...)
}

func TestTreeConnect(t *testing.T) {
	checkMessage(t, ParseTreeConnectRequest, (*TreeConnectRequest).Append, treeConnectRequests...)
	checkMessage(t, ParseTreeConnectResponse, (*TreeConnectResponse).Append, treeConnectResponses...)
}

func TestEmpty(t *testing.T) {
	b := AppendEmpty(append([]byte(nil), testHeader...))
	if err := ParseEmpty(b); err != nil {
		t.Error(err)
	}
	for n := range b {
		if ParseEmpty(b[:n]) == nil {
			t.Errorf("%d bytes are taken", n)
		}
	}
	b[HeaderLen]++
	if ParseEmpty(b) == nil {
		t.Error("another structure size is taken")
	}
}

func FuzzSessionSetupRequest(f *testing.F) {
	fuzzMessage(f, ParseSessionSetupRequest, (*SessionSetupRequest).Append, sessionSetupRequests...)
}

func FuzzSessionSetupResponse(f *testing.F) {
	fuzzMessage(f, ParseSessionSetupResponse, (*SessionSetupResponse).Append, sessionSetupResponses...)
}

func FuzzTreeConnectRequest(f *testing.F) {
	fuzzMessage(f, ParseTreeConnectRequest, (*TreeConnectRequest).Append, treeConnectRequests...)
}

package client

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"fileserver/smb/wire"
)

func TestStream(t *testing.T) {
	msg := bytes.Repeat([]byte{7}, wire.HeaderLen)
	var b bytes.Buffer
	if err := WriteMessage(&b, msg); err != nil {
		t.Fatal(err)
	}
	whole := bytes.Clone(b.Bytes())
	if got, err := ReadMessage(&b, len(msg)); err != nil || !bytes.Equal(got, msg) {
		t.Errorf("%x, %v", got, err)
	}
	for n := range whole {
		if _, err := ReadMessage(bytes.NewReader(whole[:n]), len(msg)); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
	for name, head := range map[string][]byte{"shorter than a header": {0, 0, 0, 63}, "longer than the limit": {0, 0, 0, 65}, "not SMB": []byte("HTTP")} {
		if _, err := ReadMessage(io.MultiReader(bytes.NewReader(head), bytes.NewReader(make([]byte, 100))), len(msg)); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDo wants Do to accept exactly one response, of the command that was requested.
func TestDo(t *testing.T) {
	response := func(cmd wire.Command, st wire.Status) []byte {
		h := wire.Header{Command: cmd, Status: st, Flags: wire.FlagServerToRedir, Credits: 1}
		return wire.AppendEmpty(h.Append(nil))
	}
	two := response(wire.CmdEcho, wire.StatusSuccess)
	for len(two)%8 != 0 {
		two = append(two, 0)
	}
	h, _ := wire.ParseHeader(two)
	h.Next = uint32(len(two))
	h.Put(two)
	two = append(two, response(wire.CmdEcho, wire.StatusSuccess)...)
	ended := errors.New("ended")
	var refused *StatusError
	for name, tc := range map[string]struct {
		answer []byte
		err    error
		want   func(error) bool
	}{
		"success": {response(wire.CmdEcho, wire.StatusSuccess), nil, func(err error) bool { return err == nil }},
		"refused": {response(wire.CmdEcho, wire.StatusAccessDenied), nil,
			func(err error) bool { return errors.As(err, &refused) && refused.Status == wire.StatusAccessDenied }},
		"another command": {response(wire.CmdClose, wire.StatusSuccess), nil, func(err error) bool { return errors.Is(err, ErrProtocol) }},
		"two responses":   {two, nil, func(err error) bool { return errors.Is(err, ErrProtocol) }},
		"no answer":       {nil, ended, func(err error) bool { return errors.Is(err, ended) }},
	} {
		m := NewMachine()
		x := func([]byte) ([]byte, error) { return tc.answer, tc.err }
		if _, err := m.Do(x, Request{Command: wire.CmdEcho, Body: Empty}); !tc.want(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package client

import (
	"context"
	"fmt"
	"strings"

	"fileserver/smb/transport"
	"fileserver/smb/wire"
)

// Memory is memory of the client that the server reaches by RDMA.
type Memory struct {
	transport.Descriptor
	// Invalidate lets the server invalidate the token with its response (SMB2_CHANNEL_RDMA_V1_INVALIDATE).
	Invalidate bool
}

func (m *Memory) channel() wire.Channel {
	if m.Invalidate {
		return wire.ChannelRDMAV1Invalidate
	}
	return wire.ChannelRDMAV1
}

// Offloads reports whether data may move by RDMA. It may not if requests are signed or encrypted, because the data would
// be neither, nor before dialect 3.0, where servers ignore the channel of a request (MS-SMB2 2.2.19).
func (c *Client) Offloads() bool {
	return c.tc.Info().MaxReadWrite > 0 && c.m.Dialect >= wire.Dialect300 && !c.m.Sign && !c.m.Encrypt
}

// MaxRead returns the most bytes that one READ moves.
func (c *Client) MaxRead() int { return c.withoutLargeMTU(c.m.Negotiate.MaxReadSize) }

// MaxWrite returns the most bytes that one WRITE moves.
func (c *Client) MaxWrite() int {
	n := c.withoutLargeMTU(c.m.Negotiate.MaxWriteSize)
	if m := c.tc.Info().MaxMessage; m > 0 && !c.Offloads() {
		n = min(n, m-1024) // for headers
	}
	return n
}

// withoutLargeMTU limits n to one credit if the server does not support requests of several (MS-SMB2 3.2.4.1.5).
func (c *Client) withoutLargeMTU(n uint32) int {
	if c.m.Negotiate.Capabilities&wire.CapLargeMTU == 0 {
		return min(int(n), creditSize)
	}
	return int(n)
}

// File is an open file.
type File struct {
	c  *Client
	ID wire.FileID
	// Size is the size in bytes when the file was opened.
	Size    uint64
	Created bool // the open created it
}

// How holds the parameters of CREATE (MS-SMB2 2.2.13).
type How struct {
	Access      wire.AccessMask
	Disposition wire.CreateDisposition
	Options     wire.CreateOptions
}

// Open opens a file of the share. Slashes separate the directories in name.
func (c *Client) Open(ctx context.Context, name string, how How) (*File, error) {
	q := c.NewCall()
	defer q.Release()
	r := wire.CreateRequest{
		ImpersonationLevel: wire.ImpersonationImpersonation, DesiredAccess: how.Access,
		ShareAccess: wire.FileShareRead | wire.FileShareWrite | wire.FileShareDelete,
		Disposition: how.Disposition, Options: how.Options | wire.FileNonDirectoryFile,
		Name: wire.AppendUTF16(nil, strings.ReplaceAll(name, "/", `\`)),
	}
	q.head = r.Append(q.head[:wire.HeaderLen], 0)
	if err := q.do(ctx, wire.CmdCreate, 1, transport.Piece{}); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	resp, err := wire.ParseCreateResponse(q.resp.Msg)
	return &File{c: c, ID: resp.FileID, Size: resp.EndOfFile, Created: resp.Action == wire.FileCreated}, err
}

// Remove removes a file.
func (c *Client) Remove(ctx context.Context, name string) error {
	f, err := c.Open(ctx, name, How{Access: wire.Delete, Disposition: wire.FileOpen, Options: wire.FileDeleteOnClose})
	if err != nil {
		return err
	}
	return f.Close(ctx)
}

// Read reads n bytes at off. Without mem it returns the data in the response, which is valid until q is used again or
// released. With mem the server places the data there, and placed is its length. Less than n bytes means the end of the file.
func (f *File) Read(ctx context.Context, q *Call, off uint64, n int, mem *Memory) (data []byte, placed int, err error) {
	r := wire.ReadRequest{Length: uint32(n), Offset: off, FileID: f.ID}
	if mem != nil {
		q.info = q.info[:0]
		q.info.Add(mem.Offset, mem.Token, mem.Length)
		r.Channel, r.ChannelInfo = mem.channel(), q.info
	}
	q.head = r.Append(q.head[:wire.HeaderLen], 0)
	if err := q.do(ctx, wire.CmdRead, f.c.chargeOf(n), transport.Piece{}); err != nil {
		return nil, 0, err
	}
	resp, err := wire.ParseReadResponse(q.resp.Msg)
	if err != nil {
		return nil, 0, err
	}
	if len(resp.Data) > n || int64(resp.DataRemaining) > int64(n) || resp.DataRemaining > 0 && mem == nil {
		return nil, 0, broken("READ of %d bytes returned %d, and %d by RDMA", n, len(resp.Data), resp.DataRemaining)
	}
	return resp.Data, int(resp.DataRemaining), nil
}

// Write writes n bytes of data at off, and returns how many the server wrote. With mem the server reads the n bytes from
// there by RDMA, and data is ignored.
func (f *File) Write(ctx context.Context, q *Call, off uint64, n int, data transport.Piece, mem *Memory, through bool) (int, error) {
	r := wire.WriteRequest{Offset: off, FileID: f.ID}
	if through && f.c.m.Dialect > wire.Dialect202 {
		r.Flags = wire.WriteFlagWriteThrough
	}
	if mem != nil {
		q.info = q.info[:0]
		q.info.Add(mem.Offset, mem.Token, mem.Length)
		r.Channel, r.ChannelInfo, r.RemainingBytes = mem.channel(), q.info, uint32(n)
		q.head = r.Append(q.head[:wire.HeaderLen], 0)
		data = transport.Piece{}
	} else {
		q.head = r.AppendHead(q.head[:wire.HeaderLen], 0, n)
	}
	if err := q.do(ctx, wire.CmdWrite, f.c.chargeOf(n), data); err != nil {
		return 0, err
	}
	resp, err := wire.ParseWriteResponse(q.resp.Msg)
	if err == nil && int64(resp.Count) > int64(n) {
		err = broken("WRITE of %d bytes wrote %d", n, resp.Count)
	}
	return int(resp.Count), err
}

// Flush makes written data stable.
func (f *File) Flush(ctx context.Context) error {
	r := wire.FlushRequest{FileID: f.ID}
	return f.simple(ctx, wire.CmdFlush, r.Append)
}

// Close closes the file.
func (f *File) Close(ctx context.Context) error {
	r := wire.CloseRequest{FileID: f.ID}
	return f.simple(ctx, wire.CmdClose, r.Append)
}

func (f *File) simple(ctx context.Context, cmd wire.Command, body func([]byte, int) []byte) error {
	q := f.c.NewCall()
	defer q.Release()
	q.head = body(q.head[:wire.HeaderLen], 0)
	return q.do(ctx, cmd, 1, transport.Piece{})
}

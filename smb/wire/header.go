package wire

import (
	"errors"
	"fmt"
)

// Lengths and marks (MS-SMB2 2.2.1).
const (
	HeaderLen = 64
	// StructureSize of every header.
	headerStructureSize = 64
)

// Protocol identifiers: the first four bytes of a message (MS-SMB2 2.2.1, 2.2.41, 2.2.42; MS-CIFS 2.2.3.1).
const (
	ProtocolSMB1      uint32 = 0x424d53ff // 0xff 'S' 'M' 'B'
	ProtocolSMB2      uint32 = 0x424d53fe
	ProtocolTransform uint32 = 0x424d53fd
	ProtocolCompress  uint32 = 0x424d53fc
)

// ErrMalformed is the error of every parser: a length, offset or fixed field of the message is wrong.
var ErrMalformed = errors.New("smb/wire: malformed message")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}

// Command is an SMB2 command (MS-SMB2 2.2.1.2).
type Command uint16

// Commands.
const (
	CmdNegotiate Command = iota
	CmdSessionSetup
	CmdLogoff
	CmdTreeConnect
	CmdTreeDisconnect
	CmdCreate
	CmdClose
	CmdFlush
	CmdRead
	CmdWrite
	CmdLock
	CmdIoctl
	CmdCancel
	CmdEcho
	CmdQueryDirectory
	CmdChangeNotify
	CmdQueryInfo
	CmdSetInfo
	CmdOplockBreak
	Commands // number of commands
)

var commandNames = [Commands]string{
	"NEGOTIATE", "SESSION_SETUP", "LOGOFF", "TREE_CONNECT", "TREE_DISCONNECT", "CREATE", "CLOSE", "FLUSH", "READ", "WRITE",
	"LOCK", "IOCTL", "CANCEL", "ECHO", "QUERY_DIRECTORY", "CHANGE_NOTIFY", "QUERY_INFO", "SET_INFO", "OPLOCK_BREAK",
}

// String names the command as the specification does.
func (c Command) String() string {
	if c < Commands {
		return commandNames[c]
	}
	return fmt.Sprintf("COMMAND_%#04x", uint16(c))
}

// HeaderFlags are the flags of a header (MS-SMB2 2.2.1.2).
type HeaderFlags uint32

// Flags of a header.
const (
	FlagServerToRedir   HeaderFlags = 0x00000001
	FlagAsyncCommand    HeaderFlags = 0x00000002
	FlagRelated         HeaderFlags = 0x00000004
	FlagSigned          HeaderFlags = 0x00000008
	FlagPriorityMask    HeaderFlags = 0x00000070
	FlagDFSOperations   HeaderFlags = 0x10000000
	FlagReplayOperation HeaderFlags = 0x20000000
)

// Header is an SMB2 header, synchronous or asynchronous (MS-SMB2 2.2.1.1, 2.2.1.2).
type Header struct {
	CreditCharge uint16
	// Status is the status of a response. In requests of dialect 3.x its low half is the ChannelSequence.
	Status    Status
	Command   Command
	Credits   uint16 // requested, or granted
	Flags     HeaderFlags
	Next      uint32 // offset of the next message of a compound from this header, or 0
	MessageID uint64
	AsyncID   uint64 // with FlagAsyncCommand, instead of TreeID
	TreeID    uint32
	SessionID uint64
	Signature [16]byte
}

// ChannelSequence is the sequence number of a 3.x request (MS-SMB2 2.2.1.2).
func (h *Header) ChannelSequence() uint16 { return uint16(h.Status) }

// ParseHeader reads the header at the beginning of b.
func ParseHeader(b []byte) (h Header, err error) {
	if len(b) < HeaderLen {
		return h, malformed("header of %d bytes", len(b))
	}
	if p := le.Uint32(b); p != ProtocolSMB2 {
		return h, malformed("protocol %#08x", p)
	}
	if n := le.Uint16(b[4:]); n != headerStructureSize {
		return h, malformed("header structure of %d bytes", n)
	}
	h.CreditCharge = le.Uint16(b[6:])
	h.Status = Status(le.Uint32(b[8:]))
	h.Command = Command(le.Uint16(b[12:]))
	h.Credits = le.Uint16(b[14:])
	h.Flags = HeaderFlags(le.Uint32(b[16:]))
	h.Next = le.Uint32(b[20:])
	h.MessageID = le.Uint64(b[24:])
	if h.Flags&FlagAsyncCommand != 0 {
		h.AsyncID = le.Uint64(b[32:])
	} else {
		h.TreeID = le.Uint32(b[36:])
	}
	h.SessionID = le.Uint64(b[40:])
	copy(h.Signature[:], b[48:64])
	return h, nil
}

// Append appends the header.
func (h *Header) Append(b []byte) []byte {
	b = le.AppendUint32(b, ProtocolSMB2)
	b = le.AppendUint16(b, headerStructureSize)
	b = le.AppendUint16(b, h.CreditCharge)
	b = le.AppendUint32(b, uint32(h.Status))
	b = le.AppendUint16(b, uint16(h.Command))
	b = le.AppendUint16(b, h.Credits)
	b = le.AppendUint32(b, uint32(h.Flags))
	b = le.AppendUint32(b, h.Next)
	b = le.AppendUint64(b, h.MessageID)
	if h.Flags&FlagAsyncCommand != 0 {
		b = le.AppendUint64(b, h.AsyncID)
	} else {
		b = le.AppendUint32(b, 0xfeff) // what Windows puts there; the field is reserved
		b = le.AppendUint32(b, h.TreeID)
	}
	b = le.AppendUint64(b, h.SessionID)
	return append(b, h.Signature[:]...)
}

// Put overwrites the header at the beginning of b, which has room for it.
func (h *Header) Put(b []byte) { h.Append(b[:0:HeaderLen]) }

// body returns the body of msg, which begins with its header. It checks that the body has at least fixed bytes and
// begins with the structure size.
func body(msg []byte, size uint16, fixed int) ([]byte, error) {
	if len(msg) < HeaderLen+fixed {
		return nil, malformed("%d bytes, %d are needed", len(msg), HeaderLen+fixed)
	}
	b := msg[HeaderLen:]
	if n := le.Uint16(b); n != size {
		return nil, malformed("structure size %d, not %d", n, size)
	}
	return b, nil
}

// span returns length bytes of msg at offset, counted from its header. If length is zero it ignores offset and
// returns nothing.
func span(msg []byte, offset, length uint64) ([]byte, error) {
	if length == 0 {
		return nil, nil
	}
	if offset < HeaderLen || offset+length < offset || offset+length > uint64(len(msg)) {
		return nil, malformed("%d bytes at offset %d of a message of %d", length, offset, len(msg))
	}
	return msg[offset : offset+length : offset+length], nil
}

// FileID is an SMB2_FILEID (MS-SMB2 2.2.14.1).
type FileID struct{ Persistent, Volatile uint64 }

// AnyFile is the FileID that stands for the file of the previous request in a related compound.
var AnyFile = FileID{^uint64(0), ^uint64(0)}

func getFileID(b []byte) FileID { return FileID{le.Uint64(b), le.Uint64(b[8:])} }

func (f FileID) append(b []byte) []byte {
	return le.AppendUint64(le.AppendUint64(b, f.Persistent), f.Volatile)
}

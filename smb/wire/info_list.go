package wire

import (
	"bytes"
	"iter"
)

// Stream is an entry of FileStreamInformation (MS-FSCC 2.4.49).
type Stream struct {
	Size           uint64 // bytes
	AllocationSize uint64 // bytes
	Name           string // ":name:$DATA"
}

const streamFixedLen = 24

// AddStream adds s. It reports whether there was room.
func (l *List) AddStream(s *Stream) bool {
	b := l.begin(8)
	start := len(b)
	b = le.AppendUint32(b, 0)
	b = le.AppendUint32(b, uint32(UTF16Len(s.Name)))
	b = le.AppendUint64(le.AppendUint64(b, s.Size), s.AllocationSize)
	return l.end(AppendUTF16(b, s.Name), start)
}

// ParseStreams reads FileStreamInformation.
func ParseStreams(b []byte) (list []Stream, err error) {
	if len(b) == 0 {
		return nil, nil
	}
	for b != nil {
		var e []byte
		if e, b, err = entry(b, streamFixedLen, 8); err != nil {
			return nil, err
		}
		name, err := within(e[streamFixedLen:], 0, uint64(le.Uint32(e[4:])))
		if err != nil {
			return nil, err
		}
		s := Stream{Size: le.Uint64(e[8:]), AllocationSize: le.Uint64(e[16:])}
		if s.Name, err = UTF16(name); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// NotifyAction says what happened to a file (MS-FSCC 2.7.1).
type NotifyAction uint32

// Actions of a FILE_NOTIFY_INFORMATION.
const (
	FileActionAdded          NotifyAction = 1
	FileActionRemoved        NotifyAction = 2
	FileActionModified       NotifyAction = 3
	FileActionRenamedOldName NotifyAction = 4
	FileActionRenamedNewName NotifyAction = 5
	FileActionAddedStream    NotifyAction = 6
	FileActionRemovedStream  NotifyAction = 7
	FileActionModifiedStream NotifyAction = 8
)

// Notify is a FILE_NOTIFY_INFORMATION: an entry of a CHANGE_NOTIFY response (MS-FSCC 2.7.1).
type Notify struct {
	Action NotifyAction
	Name   string // relative to the directory
}

// AddNotify adds n. It reports whether there was room.
func (l *List) AddNotify(n *Notify) bool {
	b := l.begin(4)
	start := len(b)
	b = le.AppendUint32(le.AppendUint32(b, 0), uint32(n.Action))
	return l.end(AppendNameInfo(b, n.Name), start)
}

// ParseNotifies reads the output of a CHANGE_NOTIFY.
func ParseNotifies(b []byte) (list []Notify, err error) {
	if len(b) == 0 {
		return nil, nil
	}
	for b != nil {
		var e []byte
		if e, b, err = entry(b, 12, 4); err != nil {
			return nil, err
		}
		n := Notify{Action: NotifyAction(le.Uint32(e[4:]))}
		if n.Name, err = ParseNameInfo(e[8:]); err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

// EANeed is the flag of an extended attribute that applications must understand to use the file (MS-FSCC 2.4.16).
const EANeed = 0x80

// EA is an extended attribute: an entry of FileFullEaInformation (MS-FSCC 2.4.16).
type EA struct {
	Flags uint8
	Name  []byte // at most 255 bytes, without the 0 that ends it
	Value []byte // at most 65535 bytes; an empty value removes the attribute
}

// AddEA adds e. It reports whether there was room.
func (l *List) AddEA(e *EA) bool {
	b := l.begin(4)
	start := len(b)
	b = append(le.AppendUint32(b, 0), e.Flags, byte(len(e.Name)))
	b = le.AppendUint16(b, uint16(len(e.Value)))
	return l.end(append(append(append(b, e.Name...), 0), e.Value...), start)
}

// EAs is FileFullEaInformation in wire form that has been checked.
type EAs []byte

// ParseEAs checks the FileFullEaInformation of a SET_INFO or of the create context ExtA.
func ParseEAs(b []byte) (EAs, error) {
	if len(b) == 0 {
		return nil, nil
	}
	for rest := b; rest != nil; {
		var err error
		if _, rest, err = parseEA(rest); err != nil {
			return nil, err
		}
	}
	return EAs(b), nil
}

func parseEA(b []byte) (ea EA, rest []byte, err error) {
	e, rest, err := entry(b, 9, 4)
	if err != nil {
		return ea, nil, err
	}
	nameEnd := 8 + int(e[5])
	end := nameEnd + 1 + int(le.Uint16(e[6:]))
	if end > len(e) || e[nameEnd] != 0 || bytes.IndexByte(e[8:nameEnd], 0) >= 0 {
		return ea, nil, malformed("extended attribute of %d bytes in %d", end, len(e))
	}
	return EA{e[4], e[8:nameEnd:nameEnd], e[nameEnd+1 : end : end]}, rest, nil
}

// All yields every attribute.
func (a EAs) All() iter.Seq[EA] {
	return func(yield func(EA) bool) {
		for b := []byte(a); len(b) > 0; {
			ea, rest, err := parseEA(b)
			if err != nil || !yield(ea) {
				return
			}
			b = rest
		}
	}
}

// EANames is a list of FILE_GET_EA_INFORMATION in wire form: the attributes that a QUERY_INFO asks for (MS-FSCC 2.4.16.1).
type EANames []byte

// ParseEANames checks a list of names.
func ParseEANames(b []byte) (EANames, error) {
	if len(b) == 0 {
		return nil, nil
	}
	for rest := b; rest != nil; {
		var err error
		if _, rest, err = parseEAName(rest); err != nil {
			return nil, err
		}
	}
	return EANames(b), nil
}

func parseEAName(b []byte) (name, rest []byte, err error) {
	e, rest, err := entry(b, 6, 4)
	if err != nil {
		return nil, nil, err
	}
	end := 5 + int(e[4])
	if end >= len(e) || e[end] != 0 || bytes.IndexByte(e[5:end], 0) >= 0 {
		return nil, nil, malformed("name of an extended attribute of %d bytes in %d", end, len(e))
	}
	return e[5:end:end], rest, nil
}

// All yields every name.
func (a EANames) All() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for b := []byte(a); len(b) > 0; {
			name, rest, err := parseEAName(b)
			if err != nil || !yield(name) {
				return
			}
			b = rest
		}
	}
}

// AddEAName adds a name to a list that ParseEANames reads. It reports whether there was room.
func (l *List) AddEAName(name []byte) bool {
	b := l.begin(4)
	start := len(b)
	b = append(le.AppendUint32(b, 0), byte(len(name)))
	return l.end(append(append(b, name...), 0), start)
}

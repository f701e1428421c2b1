package smb

import "sync/atomic"

// openState is what the commands on data and information keep of an open.
type openState struct {
	search   search
	ranges   ranges
	position atomic.Uint64 // CurrentByteOffset of FilePositionInformation (MS-FSA 2.1.5.15.10)
	// writeThrough: FileModeInformation has asked for it.
	writeThrough atomic.Bool
	eaIndex      atomic.Uint32 // where the next QUERY_INFO of FileFullEaInformation goes on
}

// endState gives up what the open has locked, and ends what waits for locks.
func (o *Open) endState() { o.unlockAll() }

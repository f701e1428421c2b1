package iwarp

import "fmt"

// Reason is why a connection was refused or ended. Its String is a metrics label.
type Reason uint8

// Reasons. Those up to ReasonLocalRequest end an established connection with a Terminate.
const (
	_ Reason = iota
	ReasonShortFPDU
	ReasonCRC
	ReasonDDPVersion
	ReasonDDPVersionTagged
	ReasonRDMAPVersion
	ReasonOpcode
	ReasonQueue
	ReasonMSN
	ReasonMO
	ReasonNoRecv
	ReasonRecvTooSmall
	ReasonSTag
	ReasonAccess
	ReasonPD
	ReasonBounds
	ReasonWrap
	ReasonReadResponseUnexpected
	ReasonReadResponseSTag
	ReasonReadResponseBounds
	ReasonIRD
	ReasonReadMalformed
	ReasonReadSTag
	ReasonReadAccess
	ReasonReadPD
	ReasonReadBounds
	ReasonReadWrap
	ReasonInvalidateSTag
	ReasonInvalidateAccess
	ReasonTerminateMalformed
	ReasonInsufficientIRD
	ReasonRTR
	ReasonLocalRequest // a work request of ours was denied: key or bounds

	ReasonTerminated  // the peer sent a Terminate
	ReasonReset       // the connection broke
	ReasonTruncated   // the peer closed in the middle of an FPDU
	ReasonStalled     // the peer stopped reading
	ReasonUnreachable // the peer did not acknowledge, or answer keep-alives
	ReasonPeerClosed
	ReasonLocalClosed
	ReasonCloseTimeout // what was posted before Disconnect could not be sent in time
	ReasonRegionGone   // a region was deregistered while a peer's READ of it was under way

	ReasonNotMPA
	ReasonMPAMalformed
	ReasonMPARevision
	ReasonMPAMarkers
	ReasonMPATimeout
	ReasonMPAEarlyData
	ReasonMPARTR
	ReasonHalfOpenLimit
	ReasonNotAdmitted
	ReasonBacklog
	ReasonRejected // by the consumer
	reasonCount
)

var reasons = [reasonCount]struct {
	name string
	code TerminateCode
	term bool
}{
	0:                            {name: "none"},
	ReasonShortFPDU:              {"short_fpdu", TerminateCode{2, 0, 3}, true},
	ReasonCRC:                    {"crc", TerminateCode{2, 0, 2}, true},
	ReasonDDPVersion:             {"ddp_version", TerminateCode{1, 2, 6}, true},
	ReasonDDPVersionTagged:       {"ddp_version_tagged", TerminateCode{1, 1, 4}, true},
	ReasonRDMAPVersion:           {"rdmap_version", TerminateCode{0, 2, 5}, true},
	ReasonOpcode:                 {"opcode", TerminateCode{0, 2, 6}, true},
	ReasonQueue:                  {"queue_number", TerminateCode{1, 2, 1}, true},
	ReasonMSN:                    {"msn", TerminateCode{1, 2, 3}, true},
	ReasonMO:                     {"mo", TerminateCode{1, 2, 4}, true},
	ReasonNoRecv:                 {"no_recv", TerminateCode{1, 2, 2}, true},
	ReasonRecvTooSmall:           {"recv_too_small", TerminateCode{1, 2, 5}, true},
	ReasonSTag:                   {"write_stag", TerminateCode{1, 1, 0}, true},
	ReasonAccess:                 {"write_access", TerminateCode{1, 1, 0}, true},
	ReasonPD:                     {"write_pd", TerminateCode{1, 1, 2}, true},
	ReasonBounds:                 {"write_bounds", TerminateCode{1, 1, 1}, true},
	ReasonWrap:                   {"write_wrap", TerminateCode{1, 1, 3}, true},
	ReasonReadResponseUnexpected: {"read_response_unexpected", TerminateCode{1, 0, 0}, true},
	ReasonReadResponseSTag:       {"read_response_stag", TerminateCode{1, 1, 0}, true},
	ReasonReadResponseBounds:     {"read_response_bounds", TerminateCode{1, 1, 1}, true},
	ReasonIRD:                    {"ird_exceeded", TerminateCode{1, 2, 2}, true},
	ReasonReadMalformed:          {"read_request_malformed", TerminateCode{0, 2, 6}, true},
	ReasonReadSTag:               {"read_stag", TerminateCode{0, 1, 0}, true},
	ReasonReadAccess:             {"read_access", TerminateCode{0, 1, 2}, true},
	ReasonReadPD:                 {"read_pd", TerminateCode{0, 1, 3}, true},
	ReasonReadBounds:             {"read_bounds", TerminateCode{0, 1, 1}, true},
	ReasonReadWrap:               {"read_wrap", TerminateCode{0, 1, 4}, true},
	ReasonInvalidateSTag:         {"invalidate_stag", TerminateCode{0, 1, 0}, true},
	ReasonInvalidateAccess:       {"invalidate_access", TerminateCode{0, 1, 9}, true},
	ReasonTerminateMalformed:     {"terminate_malformed", TerminateCode{0, 2, 6}, true},
	ReasonInsufficientIRD:        {"insufficient_ird", TerminateCode{2, 0, 6}, true},
	ReasonRTR:                    {"rtr", TerminateCode{2, 0, 7}, true},
	ReasonLocalRequest:           {"local_request", TerminateCode{0, 0, 0}, true},
	ReasonTerminated:             {name: "terminated_by_peer"},
	ReasonReset:                  {name: "reset"},
	ReasonTruncated:              {name: "truncated"},
	ReasonStalled:                {name: "peer_stalled"},
	ReasonUnreachable:            {name: "peer_unreachable"},
	ReasonPeerClosed:             {name: "peer_closed"},
	ReasonLocalClosed:            {name: "local_closed"},
	ReasonCloseTimeout:           {name: "close_timeout"},
	ReasonRegionGone:             {name: "region_gone"},
	ReasonNotMPA:                 {name: "not_mpa"},
	ReasonMPAMalformed:           {name: "mpa_malformed"},
	ReasonMPARevision:            {name: "mpa_revision"},
	ReasonMPAMarkers:             {name: "mpa_markers"},
	ReasonMPATimeout:             {name: "mpa_timeout"},
	ReasonMPAEarlyData:           {name: "mpa_early_data"},
	ReasonMPARTR:                 {name: "mpa_rtr"},
	ReasonHalfOpenLimit:          {name: "half_open_limit"},
	ReasonNotAdmitted:            {name: "not_admitted"},
	ReasonBacklog:                {name: "backlog_full"},
	ReasonRejected:               {name: "rejected"},
}

// String is the reason as metrics and logs name it.
func (r Reason) String() string {
	if r < reasonCount {
		return reasons[r].name
	}
	return fmt.Sprintf("reason_%d", uint8(r))
}

// terminates reports whether a connection that ends for this reason sends a
// Terminate, and with which code.
func (r Reason) terminates() (TerminateCode, bool) { return reasons[r].code, reasons[r].term }

// inOrder reports whether this is how connections end without anything amiss.
func (r Reason) inOrder() bool { return r == ReasonPeerClosed || r == ReasonLocalClosed }

// Error is why a connection could not be made, or ended: the Err of an
// [rdma.EventFatal] or [rdma.EventDisconnected].
type Error struct {
	Reason Reason
	Detail string
	Err    error // the cause, if it came from elsewhere
	// Terminate is the code sent to or received from the peer, if any.
	Terminate *TerminateCode
}

// Error implements error.
func (e *Error) Error() string {
	s := "iwarp: " + e.Reason.String()
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Terminate != nil {
		s += " (terminate " + e.Terminate.String() + ")"
	}
	return s
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

func errorf(r Reason, format string, args ...any) *Error {
	return &Error{Reason: r, Detail: fmt.Sprintf(format, args...)}
}

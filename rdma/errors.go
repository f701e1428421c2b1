package rdma

import (
	"errors"
	"fmt"
)

// Errors of the verbs.
var (
	ErrUnsupported  = errors.New("rdma: not supported by this provider")
	ErrQueueFull    = errors.New("rdma: work queue is full")
	ErrNotConnected = errors.New("rdma: queue pair is not connected")
	ErrClosed       = errors.New("rdma: closed")
	ErrBusy         = errors.New("rdma: object is in use")
	// ErrDeviceRemoved ends the connections of a device that goes away.
	ErrDeviceRemoved = errors.New("rdma: device removed")
	// ErrNoMemory refuses a connection for which there are no buffers.
	ErrNoMemory = errors.New("rdma: no memory for the connection")
	// ErrSegments refuses a transfer whose remote segments cannot hold it.
	ErrSegments = errors.New("rdma: remote segments do not fit the transfer")
)

// RejectedError says that the peer refused a connection.
type RejectedError struct {
	PrivateData []byte
	Reason      string
}

// Error implements error.
func (e *RejectedError) Error() string { return "rdma: connection rejected: " + e.Reason }

// CompletionError is the failure of a work request, as an error.
type CompletionError struct {
	Opcode Opcode
	Status Status
}

// Error implements error.
func (e *CompletionError) Error() string { return fmt.Sprintf("rdma: %v: %v", e.Opcode, e.Status) }

package v4

import (
	"time"

	"fileserver/nfs/v4/proto"
)

// Observer is told of the operations of a [Server], for metrics.
type Observer interface {
	// Operation is called once for every operation at the start; what it returns is told of each execution.
	Operation(name string) OperationObserver
}

// OperationObserver is told of the executions of one operation. It must not block.
type OperationObserver interface {
	// Done is called when the operation has been executed or refused.
	Done(status proto.Status, d time.Duration)
}

// observe resolves the observers of all operations.
func (s *Server) observe(o Observer) {
	if o == nil {
		return
	}
	for op := range ops {
		if ops[op].name != "" {
			s.observers[op] = o.Operation(ops[op].name)
		}
	}
	s.observers[illegal] = o.Operation("ILLEGAL")
}

// illegal is the place of OpIllegal among the observers.
const illegal = 0

// observer is that of an operation; nil: none.
func (s *Server) observer(op proto.Op) OperationObserver {
	if op == proto.OpIllegal {
		op = illegal
	}
	return s.observers[op]
}

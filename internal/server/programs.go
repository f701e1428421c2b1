package server

import "fileserver/nfs/rpc"

func (s *Server) programs() ([]*rpc.Program, error) { return nil, nil }

package main

import (
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/rlfunc/rlfunc/examples/middleware/tried"
)

func TestServer(t *testing.T) {
	s := server(tried.Limits(t))
	defer s.Stop()
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "chat.Chat", HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: "Say", ServerStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
			return stream.SendMsg(new(emptypb.Empty))
		}}},
	}, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	got := map[codes.Code]int{}
	for range 12 {
		got[status.Code(conn.Invoke(t.Context(), "/chat.Chat/Say", new(emptypb.Empty), new(emptypb.Empty)))]++
	}
	if got[codes.OK] != 10 || got[codes.ResourceExhausted] != 2 {
		t.Errorf("codes are %v", got)
	}
}

package testutil

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// TestAddressIsNobodyElses: the port refuses until a server listens, can be listened on again and again, and
// is given to no other listener, of which the kernel hands out as many as it has ports of that parity.
func TestAddressIsNobodyElses(t *testing.T) {
	t.Parallel()
	at := Address(t)
	for range 3 {
		if c, err := net.Dial("tcp", at); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("nobody listens: %v, %v", c, err)
		}
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := net.Listen("tcp", at); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("two listeners at one address: %v", err)
		}
		if err := errors.Join(c.Close(), l.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for range 200 {
		if other := Address(t); other == at {
			t.Fatalf("%s was given twice", at)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if l.Addr().String() == at {
			t.Fatalf("%s was given to another", at)
		}
	}
}

package testutil

import (
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"
)

// Address reserves a free port of 127.0.0.1 until the test ends and returns its address: a server of the
// test or of a process that it starts can listen there, again and again, and meanwhile nobody else is given
// that port. As long as no server listens, connecting is refused.
//
// A port that was merely found free can be handed to another test's server before it is used. Here a
// socket stays bound that never listens: the kernel gives its port to nobody who asks for any, and lets a
// listener share it that asks for this one with SO_REUSEADDR, which Go's do.
func Address(tb testing.TB) string {
	tb.Helper()
	syscall.ForkLock.RLock() // no process that is started meanwhile inherits the socket
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		tb.Fatalf("reserve a port: %v", os.NewSyscallError("socket", err))
	}
	tb.Cleanup(func() {
		if err := syscall.Close(fd); err != nil {
			tb.Errorf("give a reserved port back: %v", os.NewSyscallError("close", err))
		}
	})
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		tb.Fatalf("reserve a port: %v", os.NewSyscallError("setsockopt", err))
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		tb.Fatalf("reserve a port: %v", os.NewSyscallError("bind", err))
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		tb.Fatalf("reserve a port: %v", os.NewSyscallError("getsockname", err))
	}
	in4, ok := at.(*syscall.SockaddrInet4)
	if !ok {
		tb.Fatalf("reserve a port: bound to %T", at)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(in4.Port))
}

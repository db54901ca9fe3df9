package testutil

import (
	"os"
	"syscall"
	"testing"
)

// Executable writes a program or script that the test is going to start.
//
// A process that another test starts at the same moment has every open file of this one until it turns
// into its program; had it this one open for writing, the kernel would refuse to run it as "text file
// busy". So nothing is started while the file is open.
func Executable(tb testing.TB, name string, content []byte) {
	tb.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(name, content, 0o700)
	syscall.ForkLock.RUnlock()
	if err == nil {
		err = os.Chmod(name, 0o755) // whatever the umask: other users may start it too
	}
	if err != nil {
		tb.Fatalf("write the program %s: %v", name, err)
	}
}

//go:build unix

package browser

import (
	"errors"
	"os/exec"
	"syscall"
)

// ownGroup puts the browser and what it starts into a process group, out of reach of the terminal's
// Ctrl-C: it ends when its episodes have ended.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends the browser and what it started.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // gone already is as good

// isBroken reports a write to a pipe that nobody reads any more.
func isBroken(err error) bool { return errors.Is(err, syscall.EPIPE) }

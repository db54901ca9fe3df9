//go:build unix

package browser

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the browser and what it starts into a process group, out of reach of the terminal's
// Ctrl-C: it ends when its episodes have ended.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends the browser and what it started.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // gone already is as good

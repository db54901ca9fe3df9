// Package container runs an environment's commands in Docker containers: create, start, execute, copy,
// remove, and the reaping of what a dead run left behind. Adapters share it; nothing else talks to the
// daemon.
//
// Every container carries its owner's and its run's labels. By default it has no network, no
// capabilities, no new privileges, and limits on processes, memory and processors; what a caller relaxes
// is named, and Container.Relaxed lists it for the run's record.
//
// A command's stdout and stderr are merged inside the container, for the daemon carries them as two
// streams that may overtake each other. Output is capped while it is read. A time-out ends every process
// in the container but its first one, whatever sessions and groups they made for themselves.
//
// A daemon or a container that fails is an environment failure (harness.FailEnv). A command that fails
// is a Result.
package container

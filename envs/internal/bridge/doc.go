// Package bridge plays the original of an environment, a Python program behind a small WebSocket server
// (docker/bridge/server.py, which describes the protocol): in a container that it starts and removes, or
// at an address where somebody else runs one.
//
// A container of its own has no network. Each session talks to the server's Unix socket through the
// standard input and output of a command in the container.
//
// What the original does wrong, a session that is lost and a server that is gone are environment
// failures (harness.FailEnv).
package bridge

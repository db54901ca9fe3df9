// Package openenv serves a suite of environments over the OpenEnv protocol (WebSocket and HTTP, as PyPI's
// openenv speaks it), so that trainers which know nothing of this program step its environments.
//
// It owns the protocol: messages, sessions, their number and their time, schemas, the task API, JSON-RPC
// for tools. What a task is and what an action does is the suite's; addresses, certificates and tokens
// are the command's.
package openenv

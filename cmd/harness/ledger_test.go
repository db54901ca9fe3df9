package main

import (
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/store"
)

// The agent looks for the second interface at run time: losing it would only make the ledger poorer.
var (
	_ agent.Recorder     = (*store.Recorder)(nil)
	_ agent.CallRecorder = (*store.Recorder)(nil)
)

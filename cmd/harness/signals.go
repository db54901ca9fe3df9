package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// stops are the two ways in which a command is asked to end.
type stops struct {
	soft context.Context // first Ctrl-C: admit nothing new, finish what runs
	hard context.Context // second Ctrl-C: stop at once; soft ends with it
}

// signalContexts turns the first SIGINT or SIGTERM into the end of soft and the second into the end
// of hard. A third kills the process as it would any other: whatever hangs by then does not listen.
func signalContexts() stops {
	hard, stopHard := context.WithCancel(context.Background())
	soft, stopSoft := context.WithCancel(hard)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		stopSoft()
		<-signals
		stopHard()
		signal.Stop(signals)
	}()
	return stops{soft: soft, hard: hard}
}

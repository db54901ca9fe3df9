// Command harness collects agent rollouts, scores them in hindsight and hands them to trainers.
package main

import (
	"os"
)

func main() {
	os.Exit(run(signalContexts(), osGlobals(), os.Args[1:]))
}

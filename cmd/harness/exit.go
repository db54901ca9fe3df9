package main

// Exit codes. Scripts branch on them, so they never change meaning.
const (
	exitOK          = 0
	exitFailed      = 1   // the command could not do what it was asked
	exitUsage       = 2   // wrong flags, arguments or configuration
	exitBelow       = 3   // a check ran and its result is below the threshold
	exitInterrupted = 130 // stopped by the user
)

package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/internal/errext"
)

// verifier checks one file of reference answers. It calls report once per failed case, with the
// first difference, and returns how many cases passed and failed; an error means that the file
// could not be checked at all.
type verifier func(name string, r io.Reader, report func(string)) (passed, failed int, err error)

func newVerify(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "verify",
		Short:   "Compare the native engines and numerics with what the original programs answered",
		GroupID: "prove",
	}
	cmd.AddCommand(newVerifyALFWorld(g), newVerifyWebShop(g), newVerifyCredit(g), newVerifySWEBench(g), newVerifySERL(g))
	return cmd
}

// verifyResult is what --json prints.
type verifyResult struct {
	Files       int      `json:"files"`
	Passed      int      `json:"passed"`
	Failed      int      `json:"failed"`
	Differences []string `json:"differences"`
}

// runVerify checks every file, prints each case's first difference and, last, "N passed, M failed": also
// where stdout and stderr are one, nothing follows. notes print what else is to be said.
func runVerify(g *globals, files []string, asJSON bool, check verifier, notes ...func()) error {
	res := verifyResult{Files: len(files), Differences: []string{}}
	report := func(line string) {
		res.Differences = append(res.Differences, line)
		if !asJSON {
			fmt.Fprintln(g.stdout, line)
		}
	}
	var errs []error
	for _, name := range files {
		passed, failed, err := verifyFile(name, check, report)
		res.Passed += passed
		res.Failed += failed
		if err == nil && passed+failed == 0 {
			err = errors.New("no case in it")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("verify %s: %w", name, err))
			printError(g, errs[len(errs)-1])
		}
	}
	for _, note := range notes {
		note()
	}
	if asJSON {
		if err := writeJSON(g.stdout, res); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(g.stdout, "%d passed, %d failed\n", res.Passed, res.Failed)
	}
	if res.Failed > 0 {
		errs = append(errs, fmt.Errorf("%d of %d cases differ from the reference", res.Failed, res.Passed+res.Failed))
	}
	if len(errs) > 0 {
		return reported{errext.WithCode(errors.Join(errs...), exitFailed)}
	}
	return nil
}

func verifyFile(name string, check verifier, report func(string)) (passed, failed int, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	return check(name, f, report)
}

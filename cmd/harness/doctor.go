package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
)

type doctorCommand struct {
	g      *globals
	server string
	model  string
	keyEnv string
	asJSON bool
	probe  llm.ProbeConfig

	local    localFlags
	renderer rendererFlag
}

func newDoctor(g *globals) *cobra.Command {
	c := &doctorCommand{g: g}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Measure what an inference server can do for the pipeline",
		Long: `doctor asks a server what it gives (token ids, log-probabilities, prompt log-probabilities, versions, …),
samples a short response, scores it again and compares, and ends with what the pipeline can and cannot
do with it. It guesses nothing from a server's name.`,
		Example: `  harness doctor --server http://127.0.0.1:8000
  harness doctor --server vllm:http://127.0.0.1:8000 --model my-model --json`,
		GroupID: "prove",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&c.server, "server", "", "URL, or BACKEND:URL with vllm, sglang, llamacpp or openai")
	f.StringVar(&c.model, "model", "", "model name (default: the first that the server lists)")
	f.StringVar(&c.keyEnv, "api-key-env", "HARNESS_API_KEY", "environment variable that holds the server's key")
	f.IntVar(&c.probe.MaxTokens, "max-tokens", 0, "length of the sample; 0 = 32")
	f.IntVar(&c.probe.Top, "top-logprobs", 0, "alternatives per token to ask for; 0 = 20, as rollouts do")
	f.Int64Var(&c.probe.Seed, "seed", 0, "seed of the sample; 0 = 1")
	f.StringVar(&c.local.library, "library", "", "folder with libllama.so, for --renderer gguf:FILE (default: where `harness model install` puts it)")
	c.renderer.flags(cmd)
	f.BoolVar(&c.asJSON, "json", false, "print JSON")
	return cmd
}

func (c *doctorCommand) run(cmd *cobra.Command) error {
	if c.server == "" {
		return usageError(cmd, errors.New("which server? give --server URL"))
	}
	ctx := cmd.Context()
	render, closeRenderer, err := c.renderer.open(ctx, c.g, &c.local, c.keyEnv)
	if err != nil {
		return err
	}
	return errors.Join(c.examine(cmd, render), closeRenderer())
}

// examine probes the server and prints the report.
func (c *doctorCommand) examine(cmd *cobra.Command, render renderFunc) error {
	ctx := cmd.Context()
	client, err := llm.Open(ctx, c.server, llm.Config{
		Render: render, Model: c.model, APIKey: llm.Secret(c.g.env(c.keyEnv)), Timeout: time.Minute, MaxTries: 2, Now: c.g.now,
	})
	if err != nil {
		if _, _, bad := llm.SplitSpec(c.server); bad != nil {
			return usageError(cmd, err)
		}
		return serverHint(err, c.keyEnv, "see whether the server answers, and name its kind: --server vllm:URL")
	}
	report, err := llm.Probe(ctx, client, c.probe)
	if err != nil {
		return err
	}
	if c.asJSON {
		err = writeJSON(c.g.stdout, report)
	} else {
		_, err = c.g.stdout.Write([]byte(report.String()))
	}
	switch {
	case err != nil:
		return err
	case !report.Text:
		return errext.WithCode(errext.WithHint(errors.New("the server does not generate"), "the warning above has its answer; read the server's own log, then run harness doctor again"), exitBelow)
	case !report.OK():
		return errext.WithCode(errors.New("the server contradicts itself: its log-probabilities cannot be trusted"), exitBelow)
	}
	return nil
}

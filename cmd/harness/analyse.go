package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"runtime"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/creditrun"
	"github.com/hindsightrl/harness/llm"
)

func newAnalyse(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "analyse",
		Short: "Measure what entropy modulation rests on: AEM's own analyses on a model at hand",
		Long: `analyse repeats the analyses of AEM (arXiv 2605.00425) on a model that runs in this process: the built-in
reference model or a GGUF file. Each prints a table and writes a plot. What is printed is what was
measured on that model; docs/credit.md defines every quantity.`,
		Example: `  harness analyse aem-correlation
  harness analyse aem-masking --model gguf:stories260K.gguf --states 16
  harness analyse entropy --run nightly`,
		GroupID: "prove",
	}
	cmd.AddCommand(newAnalyseCorrelation(g), newAnalyseMasking(g), newAnalyseEntropy(g), newAnalyseTrees(g))
	return cmd
}

// sampler draws responses in states of a model.
type sampler struct {
	g       *globals
	model   string
	local   localFlags
	db, run string
	opening string
	states  int
	samples int
	tokens  int
	seed    int64
	reward  string
}

func (s *sampler) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.model, "model", "refmodel", "the model: refmodel or gguf:FILE")
	s.local.flags(cmd)
	ledgerFlag(cmd, &s.db)
	f.StringVar(&s.run, "run", "", "take the states from the prompts of this run (default for refmodel: of embedded games that the expert plays; for gguf: texts that the model began itself)")
	f.StringVar(&s.opening, "opening", "Once upon a time", "how texts that the model begins itself begin")
	f.IntVar(&s.states, "states", 64, "number of states")
	f.IntVar(&s.samples, "samples", 64, "responses sampled in each")
	f.IntVar(&s.tokens, "max-tokens", 0, "tokens per response; 0 = 128 for states of a run, 32 for texts")
	f.Int64Var(&s.seed, "seed", 0, "seed of states and responses")
}

func (s *sampler) validate() error {
	switch {
	case s.states < 1 || s.samples < 2:
		return fmt.Errorf("--states %d --samples %d: want at least 1 state and 2 responses", s.states, s.samples)
	case s.tokens < 0:
		return fmt.Errorf("--max-tokens %d: want 0 or more", s.tokens)
	case !isLocal(s.model):
		return fmt.Errorf("--model %q: want refmodel or gguf:FILE", s.model)
	}
	return nil
}

// state is where responses are sampled.
type state struct {
	prompt []int32
	env    string // whose rules read an action from a response; "" = none
	action string // what was done there
}

// sampled are the responses by state, with what a report says about them.
type sampled struct {
	states [][]creditrun.Sampled
	model  llm.ModelInfo
	source string // where the states come from
	cut    int    // responses that reached the limit of tokens
	tokens int
}

// sample opens the model, finds the states and samples in them.
func (s *sampler) sample(ctx context.Context) (out sampled, err error) {
	m, closeModel, err := s.local.open(ctx, s.model)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, closeModel()) }()
	out.model = m.Info()
	var where []state
	if s.run == "" && s.model != "refmodel" {
		where, err = s.ownTexts(ctx, m)
		out.source = fmt.Sprintf("texts that the model began with %q", s.opening)
	} else {
		where, out.source, err = s.runStates(ctx, m)
	}
	if err != nil {
		return out, err
	}
	out.states = make([][]creditrun.Sampled, len(where))
	cuts := make([]int, len(where))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, runtime.GOMAXPROCS(0)))
	for k := range where {
		group.Go(func() (err error) {
			out.states[k], cuts[k], err = s.respond(ctx, m, where[k], k)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return out, err
	}
	for k, state := range out.states {
		out.cut += cuts[k]
		for i := range state {
			out.tokens += state[i].Tokens
		}
	}
	return out, nil
}

// limit is the number of tokens of a response.
func (s *sampler) limit(where state) int {
	switch {
	case s.tokens > 0:
		return s.tokens
	case where.env == "":
		return 32
	}
	return 128
}

// respond samples the responses of state k.
func (s *sampler) respond(ctx context.Context, m llm.Model, where state, k int) (out []creditrun.Sampled, cut int, err error) {
	for i := range s.samples {
		r, text, finish, err := drawResponse(ctx, m, where.prompt, s.limit(where), s.derive(k, i, "response"))
		if err != nil {
			return nil, 0, fmt.Errorf("sample response %d in state %d: %w", i, k, err)
		}
		if finish == "length" {
			cut++
		}
		r.Reward = s.rewardOf(where, text, k, i)
		out = append(out, r)
	}
	return out, cut, nil
}

// The rewards of analysis B.
const (
	rewardAction = "action" // 1 where the response takes the action that was taken when the state was recorded
	rewardCoin   = "coin"   // 1 with probability 1/2, whatever the response
)

func (s *sampler) rewardOf(where state, text []byte, k, i int) float64 {
	kind := s.reward
	if kind == "" && where.env != "" {
		kind = rewardAction
	}
	hit := s.derive(k, i, "coin")&1 == 1
	if kind == rewardAction {
		action, _ := agent.Project(where.env, string(text))
		hit = where.env != "" && action == where.action
	}
	if hit {
		return 1
	}
	return 0
}

// derive is a seed for one purpose of one response.
func (s *sampler) derive(k, i int, purpose string) int64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %d %s", s.seed, k, i, purpose)
	x := h.Sum64() // its low bits need mixing: FNV ends with a multiplication
	x ^= x >> 32
	x *= 0x9e3779b97f4a7c15
	return int64(x>>1 ^ x>>33)
}

// drawResponse samples one response from the model's own distribution.
func drawResponse(ctx context.Context, m llm.Model, prompt []int32, limit int, seed int64) (r creditrun.Sampled, text []byte, finish string, err error) {
	sampling := llm.Sampling{Temperature: 1, TopP: 1, MaxTokens: limit, Seed: &seed}
	finish, err = m.Stream(ctx, llm.StreamRequest{Prompt: prompt, Sampling: sampling}, func(e llm.TokenEvent) error {
		r.Surprisal -= float64(e.Logprob)
		r.Entropy += float64(e.Entropy)
		r.Tokens++
		text = append(text, m.TokenBytes(e.ID)...)
		return nil
	})
	if err == nil && r.Tokens == 0 {
		err = errors.New("the model said nothing")
	}
	r.Entropy /= float64(max(r.Tokens, 1))
	return r, text, finish, err
}

// outFlag says where plots go.
func outFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "out", ".", "folder for the plot (SVG)")
}

func makeOut(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder for plots: %w", err)
	}
	return nil
}

func (s *sampled) head(g *globals) {
	n := 0
	for _, state := range s.states {
		n += len(state)
	}
	fmt.Fprintf(g.stdout, "model   %s (%s)\nstates  %d: %s\nsamples %d responses at temperature 1, %.1f tokens each, %s cut at the limit\n",
		s.model.Name, s.model.Version, len(s.states), s.source, n, float64(s.tokens)/float64(n), percent(s.cut, n))
}

// aemFlags are the parameters of AEM.
func aemFlags(cmd *cobra.Command, cfg *credit.AEMConfig) {
	*cfg = credit.DefaultAEM()
	f := cmd.Flags()
	f.Float64Var(&cfg.Lambda, "lambda", cfg.Lambda, "AEM's λ")
	f.Float64Var(&cfg.MinRange, "min-range", cfg.MinRange, "nats: α = 1 in states whose mean entropies differ by less")
}

package feed

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vmihailenco/msgpack/v5"
)

// PrimeRLConfig says how rows become the files that prime-rl's trainers read.
type PrimeRLConfig struct {
	Dir        string // the trainer's output_dir; files go to Dir/rollouts/step_N/rank_R.bin
	Step       int    // N of the first file
	Ranks      int    // data-parallel trainers; each gets equally many micro-batches
	SeqLen     int    // tokens of a micro-batch: rows are packed until it is full
	StepGroups int    // groups per step; 0 = all in one
}

// Validate reports the first field that cannot work.
func (c PrimeRLConfig) Validate() error {
	switch {
	case c.Dir == "":
		return errors.New("prime-rl: no folder")
	case c.Step < 0 || c.StepGroups < 0:
		return errors.New("prime-rl: step and groups per step cannot be negative")
	case c.Ranks < 1:
		return fmt.Errorf("prime-rl: %d ranks: want at least 1", c.Ranks)
	case c.SeqLen < 1:
		return fmt.Errorf("prime-rl: sequence length %d: want at least 1", c.SeqLen)
	}
	return nil
}

// microBatch has the fields of prime-rl's MicroBatch that rows fill, in its order; the struct is an
// array in msgpack, and fields after the last that differs from its default are left out. The rest of
// them is: ref_logprobs, routed_experts, mm_refs, mm_token_type_ids, rl_weights, ce_weights,
// ref_kl_weights. Every list but the lengths has one value per token, of the prompt too.
//
// Source: PrimeIntellect-ai/prime-rl@a608ad9:src/prime_rl/transports/rollouts/types.py.
type microBatch struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // read by the encoder

	InputIDs          []int32
	LossMask          []bool
	Advantages        []float32
	InferenceLogprobs []float32
	PositionIDs       []int32 // from 0 in each sequence
	SequenceLengths   []int32
	Temperatures      []float32
	EnvNames          []string
	SeqLens           []int32
}

// primeRL gathers micro-batches and writes a step's files when it has its groups.
type primeRL struct {
	cfg    PrimeRLConfig
	groups int
	done   []microBatch
}

// NewPrimeRL writes micro-batch files. Rows need prompt and response ids, log-probabilities and
// advantages (ErrColumn otherwise); one that is longer than SeqLen is an error, never cut.
func NewPrimeRL(cfg PrimeRLConfig) (Exporter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &primeRL{cfg: cfg}, nil
}

func (p *primeRL) Write(group []Row) error {
	for i := range group {
		if err := p.add(&group[i]); err != nil {
			return err
		}
	}
	p.groups++
	if p.groups == p.cfg.StepGroups {
		return p.flush()
	}
	return nil
}

// add packs a row into the first micro-batch of the step that has room.
func (p *primeRL) add(r *Row) error {
	if err := r.need("prime-rl"); err != nil {
		return err
	}
	n := len(r.PromptIDs) + len(r.ResponseIDs)
	if n > p.cfg.SeqLen {
		return fmt.Errorf("prime-rl: episode %d, step %d has %d tokens, a sequence takes %d", r.Episode, r.Step, n, p.cfg.SeqLen)
	}
	at := slices.IndexFunc(p.done, func(m microBatch) bool { return len(m.InputIDs)+n <= p.cfg.SeqLen })
	if at < 0 {
		at = len(p.done)
		p.done = append(p.done, microBatch{})
	}
	m := &p.done[at]
	temperature := float32(1)
	if r.Temperature != nil {
		temperature = float32(*r.Temperature)
	}
	env, _, _ := strings.Cut(r.Task, "/")
	m.InputIDs = append(append(m.InputIDs, r.PromptIDs...), r.ResponseIDs...)
	for i := range n {
		m.PositionIDs = append(m.PositionIDs, int32(i))
		m.Temperatures = append(m.Temperatures, temperature)
		m.EnvNames = append(m.EnvNames, env)
	}
	prompt := len(r.PromptIDs)
	m.LossMask = append(m.LossMask, make([]bool, prompt)...)
	for _, v := range r.ResponseMask {
		m.LossMask = append(m.LossMask, v == 1)
	}
	m.Advantages = append(append(m.Advantages, make([]float32, prompt)...), r.Advantages...)
	m.InferenceLogprobs = append(append(m.InferenceLogprobs, make([]float32, prompt)...), r.Logprobs...)
	m.SequenceLengths, m.SeqLens = append(m.SequenceLengths, int32(n)), append(m.SeqLens, int32(n))
	return nil
}

// flush writes the step: one file per rank, with equally many micro-batches. What is missing to that is
// filled with copies of the last one that train nothing, as prime-rl's own packer does.
func (p *primeRL) flush() error {
	if len(p.done) == 0 {
		return nil
	}
	for len(p.done)%p.cfg.Ranks != 0 {
		m := p.done[len(p.done)-1]
		m.LossMask, m.Advantages = make([]bool, len(m.InputIDs)), make([]float32, len(m.InputIDs))
		p.done = append(p.done, m)
	}
	dir := filepath.Join(p.cfg.Dir, "rollouts", fmt.Sprintf("step_%d", p.cfg.Step))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("prime-rl: %w", err)
	}
	for rank := range p.cfg.Ranks {
		var mine []microBatch
		for i := rank; i < len(p.done); i += p.cfg.Ranks {
			mine = append(mine, p.done[i])
		}
		if err := writeMicroBatches(filepath.Join(dir, fmt.Sprintf("rank_%d.bin", rank)), mine); err != nil {
			return fmt.Errorf("prime-rl: %w", err)
		}
	}
	p.done, p.groups = nil, 0
	p.cfg.Step++
	return nil
}

// writeMicroBatches writes beside the file and renames: a trainer that watches sees whole files only.
func writeMicroBatches(path string, list []microBatch) error {
	var buf bytes.Buffer
	enc := msgpack.NewEncoder(&buf)
	enc.UseCompactInts(true)
	if err := enc.Encode(list); err != nil {
		return err
	}
	if err := os.WriteFile(path+".tmp", buf.Bytes(), 0o666); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

func (p *primeRL) Close() error { return p.flush() }

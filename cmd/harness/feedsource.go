package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/creditrun"
	"github.com/hindsightrl/harness/feed"
	"github.com/hindsightrl/harness/store"
)

// Names that stand for a pass beside its number or key.
const (
	passNewest = "newest"
	passNone   = "none"
)

// feedFlags say which rows of a run are handed over, and how.
type feedFlags struct {
	db        string
	run       string
	credit    string
	score     string
	loss      string
	length    int
	sequences string
}

func (f *feedFlags) flags(cmd *cobra.Command) {
	ledgerFlag(cmd, &f.db)
	fs := cmd.Flags()
	fs.StringVar(&f.run, "run", "", "the run (default: the last one of the ledger)")
	fs.StringVar(&f.credit, "credit", passNewest, "credit pass: its number, the beginning of its key, newest, or none")
	fs.StringVar(&f.score, "score", passNewest, "teacher pass: its number, key or mode, none, or newest: the one that the credit pass read")
	fs.StringVar(&f.loss, "loss", "", "loss whose clip range and aggregation go along as hints: ppo, grpo, dr_grpo, dapo, gspo (default: none)")
	fs.IntVar(&f.length, "loss-length", 0, "constant length that dr_grpo divides token sums by, for loss_weight; 0 = leave loss_weight out")
	fs.StringVar(&f.sequences, "sequences", string(feed.SequenceStep), "what shares a sequence id: step or episode")
}

// feedPlan is what feedFlags name, looked up.
type feedPlan struct {
	run       store.Run
	spec      harness.FeedSpec
	hints     *credit.Hints
	length    int
	sequences feed.Sequences
}

func (f *feedFlags) plan(ctx context.Context, cmd *cobra.Command, db *store.Store, name string) (p feedPlan, err error) {
	if p.run, err = db.RunByName(ctx, f.run); err != nil {
		return p, err
	}
	p.spec = harness.FeedSpec{RunID: p.run.ID, Name: name}
	switch f.credit {
	case passNewest:
	case passNone:
		p.spec.Credit = harness.PassNone
	default:
		c, err := db.FindCreditPass(ctx, f.credit)
		if err != nil {
			return p, err
		}
		if c.RunID != p.run.ID {
			return p, usageError(cmd, fmt.Errorf("credit pass %d is of another run", c.ID))
		}
		p.spec.Credit = c.ID
	}
	switch f.score {
	case passNewest:
	case passNone:
		p.spec.Score = harness.PassNone
	default:
		s, err := db.FindScorePass(ctx, p.run.ID, f.score)
		if err != nil {
			return p, err
		}
		p.spec.Score = s.ID
	}
	if f.loss != "" {
		h, err := credit.HintsFor(f.loss)
		if err != nil {
			return p, usageError(cmd, err)
		}
		p.hints = &h
	}
	if p.length = f.length; f.length < 0 {
		return p, usageError(cmd, fmt.Errorf("--loss-length %d: want at least 0", f.length))
	}
	p.sequences = feed.Sequences(f.sequences)
	if p.sequences != feed.SequenceStep && p.sequences != feed.SequenceEpisode {
		return p, usageError(cmd, fmt.Errorf("--sequences %q: want step or episode", f.sequences))
	}
	return p, nil
}

// ledgerSource reads batches from the ledger: it is the feed's Source.
type ledgerSource struct {
	*store.Feed // nil in an export
	db          *store.Store
	plan        feedPlan

	mu       sync.Mutex
	passes   map[[2]int64]*feed.Pass
	filtered filteredGroups // of the credit pass that was looked at last
}

func newLedgerSource(db *store.Store, f *store.Feed, p feedPlan) *ledgerSource {
	return &ledgerSource{Feed: f, db: db, plan: p, passes: map[[2]int64]*feed.Pass{}}
}

// watchEvery is how often the ledger is looked at for commits of other processes.
const watchEvery = 5 * time.Millisecond

func (s *ledgerSource) Watch(ctx context.Context, changed func()) error {
	return s.Feed.Watch(ctx, watchEvery, changed)
}

func (s *ledgerSource) Steps(ctx context.Context, l harness.Lease, group int) ([]harness.FeedStep, error) {
	return s.db.FeedSteps(ctx, s.plan.run.ID, group, l.Credit, l.Score)
}

// Pass reads what a lease's passes were made with, once for each pair.
func (s *ledgerSource) Pass(ctx context.Context, l harness.Lease) (*feed.Pass, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]int64{l.Credit, l.Score}
	if p := s.passes[key]; p != nil {
		return p, nil
	}
	p, err := s.read(ctx, l)
	if err == nil {
		s.passes[key] = p
	}
	return p, err
}

func (s *ledgerSource) read(ctx context.Context, l harness.Lease) (*feed.Pass, error) {
	p := &feed.Pass{Run: s.plan.run.Name, Response: credit.ResponseNone, Token: credit.TokenNone, Hints: s.plan.hints, LossLength: s.plan.length, Sequences: s.plan.sequences}
	creditConfig := ""
	if l.Credit != 0 {
		pass, err := s.db.FindCreditPass(ctx, strconv.FormatInt(l.Credit, 10))
		if err != nil {
			return nil, err
		}
		saved, err := decodePass(pass)
		if err != nil {
			return nil, err
		}
		c := saved.cfg
		creditConfig = string(pass.Config)
		p.Credit, p.PassID, p.Estimator, p.Response, p.Token = pass.Key, pass.ID, c.Estimator.Name, c.Response, c.Token
		p.Reward = c.Reward.Name()
		if c.Shared == creditrun.SharedOnce {
			p.Shared = string(c.Shared)
		}
		if c.Token != credit.TokenNone && c.Token != "" {
			p.SERL, p.Update, p.Lambda = &c.SERL, c.Update, c.SERL.LambdaAt(c.Update)
		}
	}
	if l.Score != 0 {
		pass, err := s.db.FindScorePass(ctx, s.plan.run.ID, strconv.FormatInt(l.Score, 10))
		if err != nil {
			return nil, err
		}
		p.Score = pass.Key
	}
	loss := ""
	if p.Hints != nil {
		loss = p.Hints.Name
	}
	run := s.plan.run
	p.ConfigHash = feed.ConfigHash(string(run.Config), string(run.Info), run.PanelHash, strconv.FormatInt(run.Seed, 10), run.Policy, run.CodeVersion,
		creditConfig, p.Score, loss, string(p.Sequences))
	return p, nil
}

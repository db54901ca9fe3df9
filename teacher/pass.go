package teacher

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hindsightrl/harness"
)

// groupsInFlight keeps the teacher busy while one group's rows are read and another's are written.
const groupsInFlight = 3

// totals are what the call counts.
type totals struct {
	done         int
	calls        int
	scored       int // response tokens
	cached       int
	missing      int
	promptTokens int
	answerTokens int
	check        *SelfCheck
	dry          []harness.ScoreCounts
	low, high    int32
	versions     bool
}

// passRun is one call of Score.
type passRun struct {
	opt     Options
	ledger  Ledger
	engine  Engine
	teacher [32]byte
	masks   *masker
	passes  []harness.ScorePass
	slots   chan struct{} // calls in flight
	total   int

	mu     sync.Mutex
	totals totals

	checkOnce sync.Once
	checkErr  error
}

// Score scores a run in every mode of opt and keeps the results: what the ledger holds already is not asked
// again, and a group whose episodes and contexts are unchanged is not even looked at. It may be stopped at
// any point and goes on from there. Equal options give equal rows, however often and with how many calls
// in flight.
//
// The first error ends the pass; what was answered until then is kept. A self-check that finds the
// teacher unable to repeat the student's own numbers is such an error (ErrSelfCheck).
func Score(ctx context.Context, ledger Ledger, engine Engine, opt Options) (Report, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return Report{}, err
	}
	p := &passRun{
		opt: opt, ledger: ledger, engine: engine, teacher: opt.Teacher.key(), masks: newMasker(opt.Mask, engine),
		slots: make(chan struct{}, opt.Concurrency),
	}
	p.totals.dry = make([]harness.ScoreCounts, len(opt.Modes))
	groups, err := p.open(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("score run %d: %w", opt.RunID, err)
	}
	todo, err := p.todo(ctx, groups)
	if err != nil {
		return Report{}, fmt.Errorf("score run %d: %w", opt.RunID, err)
	}
	p.progress()
	eg, groupCtx := errgroup.WithContext(ctx)
	eg.SetLimit(groupsInFlight)
	if opt.Contexts != nil { // they are shown in order
		eg.SetLimit(1)
	}
	for _, g := range todo {
		eg.Go(func() error { return g.run(groupCtx) })
	}
	if err := eg.Wait(); err != nil {
		return p.partial(), fmt.Errorf("score run %d: %w", opt.RunID, err)
	}
	return p.close(ctx, groups, len(todo) > 0)
}

// open finds or adds the passes. A dry run adds none.
func (p *passRun) open(ctx context.Context) ([]harness.ScoreGroup, error) {
	p.passes = make([]harness.ScorePass, len(p.opt.Modes))
	for i, m := range p.opt.Modes {
		p.passes[i] = p.opt.pass(m)
		p.totals.dry[i].Rows = make(map[harness.ScoreStatus]int)
		if p.opt.DryRun {
			continue
		}
		var err error
		if p.passes[i], err = p.ledger.OpenScorePass(ctx, p.passes[i]); err != nil {
			return nil, err
		}
	}
	groups, err := p.ledger.ScoreGroups(ctx, p.opt.RunID)
	if p.opt.Groups == nil {
		return groups, err
	}
	return slices.DeleteFunc(groups, func(g harness.ScoreGroup) bool { return !slices.Contains(p.opt.Groups, g.Index) }), err
}

// todo lists the groups that some pass does not hold as they are now.
func (p *passRun) todo(ctx context.Context, groups []harness.ScoreGroup) ([]*groupWork, error) {
	work := make(map[int]*groupWork)
	var order []*groupWork
	for m := range p.passes {
		held := map[int]string{}
		if p.passes[m].ID != 0 {
			var err error
			if held, err = p.ledger.ScoredGroups(ctx, p.passes[m].ID); err != nil {
				return nil, err
			}
		}
		for _, g := range groups {
			if p.opt.WholeGroups && g.Open > 0 {
				continue
			}
			p.total++
			if held[g.Index] == fingerprint(g, Mode(p.passes[m].Mode)) {
				p.totals.done++
				continue
			}
			w := work[g.Index]
			if w == nil {
				w = &groupWork{p: p, group: g}
				work[g.Index] = w
				order = append(order, w)
			}
			w.modes = append(w.modes, m)
		}
	}
	return order, nil
}

// enter waits for a free call.
func (p *passRun) enter(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *passRun) leave() { <-p.slots }

// count changes the totals and tells the progress.
func (p *passRun) count(f func(*totals)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.totals)
	if p.opt.Progress != nil {
		p.opt.Progress(Progress{Done: p.totals.done, Total: p.total, Calls: p.totals.calls, Cached: p.totals.cached, Tokens: p.totals.scored})
	}
}

func (p *passRun) progress() { p.count(func(*totals) {}) }

// limit is the most tokens that a teacher's prompt may have before a response of n tokens; 0 = any. One
// token stays free, because servers must sample one to score.
func (p *passRun) limit(n int) int {
	limit := p.opt.MaxPrompt
	if c := p.opt.Teacher.ContextLength; c > 0 {
		if room := max(1, c-n-1); limit == 0 || room < limit {
			limit = room
		}
	}
	return limit
}

// recordedColumn is the behaviour policy's own log-probabilities, under a key of their own.
func recordedColumn(v []float32) harness.LogprobColumn {
	buf := []byte("hindsight/recorded/1")
	for _, x := range v {
		buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(x))
	}
	sum := sha256.Sum256(buf)
	return harness.LogprobColumn{Key: harness.ContentKey(sum[:16]), Values: v}
}

// keeper writes answers in batches as they come, so that a killed pass loses few.
type keeper struct {
	p     *passRun
	known func([]harness.LogprobColumn)
	mu    sync.Mutex
	cols  []harness.LogprobColumn
}

// keepEvery is how many answers share one write.
const keepEvery = 128

func (p *passRun) newKeeper(known func([]harness.LogprobColumn)) *keeper {
	return &keeper{p: p, known: known}
}

func (k *keeper) add(ctx context.Context, c harness.LogprobColumn) error {
	k.known([]harness.LogprobColumn{c})
	k.mu.Lock()
	k.cols = append(k.cols, c)
	if len(k.cols) < keepEvery {
		k.mu.Unlock()
		return nil
	}
	cols := k.cols
	k.cols = nil
	k.mu.Unlock()
	return k.p.ledger.AddLogprobs(ctx, cols)
}

func (k *keeper) flush(ctx context.Context) error {
	k.mu.Lock()
	cols := k.cols
	k.cols = nil
	k.mu.Unlock()
	if len(cols) == 0 {
		return nil
	}
	return k.p.ledger.AddLogprobs(ctx, cols)
}

// Report says what a call of Score did and what the passes hold now.
type Report struct {
	Passes         []PassReport `json:"passes"`
	UpToDate       bool         `json:"up_to_date"`           // nothing was left to do
	Check          *SelfCheck   `json:"self_check,omitempty"` // nil: nothing had to be asked
	Calls          int          `json:"calls"`                // asked of the teacher
	Cached         int          `json:"cached"`               // answers that were there already
	Scored         int          `json:"scored_tokens"`        // response tokens asked about
	Missing        int          `json:"missing"`              // questions that a dry run found unanswered
	PromptTokens   int          `json:"prompt_tokens"`        // of the questions
	AnswerTokens   int          `json:"answer_tokens"`        // of the questions
	FailedEpisodes int          `json:"failed_episodes"`      // they are not scored
	OpenEpisodes   int          `json:"open_episodes"`        // they are not scored yet
}

// PassReport is one mode's part of a report.
type PassReport struct {
	Pass       harness.ScorePass   `json:"pass"`
	Counts     harness.ScoreCounts `json:"counts"`
	Privileged bool                `json:"privileged"`
}

// storedReport is what a pass keeps of its last report.
type storedReport struct {
	Counts         harness.ScoreCounts `json:"counts"`
	Check          *SelfCheck          `json:"self_check,omitempty"`
	LowVersion     *int32              `json:"low_version,omitempty"` // policy versions of the scored tokens
	HighVersion    *int32              `json:"high_version,omitempty"`
	FailedEpisodes int                 `json:"failed_episodes"`
	OpenEpisodes   int                 `json:"open_episodes"`
}

// partial is the report of a call that ended early.
func (p *passRun) partial() Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := &p.totals
	return Report{
		Check: t.check, Calls: t.calls, Cached: t.cached, Scored: t.scored, Missing: t.missing, PromptTokens: t.promptTokens, AnswerTokens: t.answerTokens,
	}
}

func (p *passRun) close(ctx context.Context, groups []harness.ScoreGroup, worked bool) (Report, error) {
	r := p.partial()
	r.UpToDate = !worked
	for _, g := range groups {
		r.FailedEpisodes += g.Failed
		r.OpenEpisodes += g.Open
	}
	var errs []error
	for m := range p.passes {
		pass := PassReport{Pass: p.passes[m], Counts: p.totals.dry[m], Privileged: Mode(p.passes[m].Mode).Privileged()}
		var err error
		switch {
		case p.opt.DryRun:
		case p.opt.Groups != nil:
			err = p.notePass(ctx, pass.Pass, r)
		default:
			pass, err = p.closePass(ctx, pass, r)
		}
		if err != nil {
			errs = append(errs, err)
		}
		r.Passes = append(r.Passes, pass)
	}
	return r, errors.Join(errs...)
}

func (p *passRun) closePass(ctx context.Context, pass PassReport, r Report) (PassReport, error) {
	old, err := reportOf(pass.Pass)
	if err != nil {
		return pass, err
	}
	if r.UpToDate && len(old.Counts.Rows) > 0 {
		pass.Counts = old.Counts
	} else if pass.Counts, err = p.ledger.ScoreCounts(ctx, pass.Pass.ID); err != nil {
		return pass, err
	}
	kept := p.add(old, r)
	kept.Counts, kept.FailedEpisodes, kept.OpenEpisodes = pass.Counts, r.FailedEpisodes, r.OpenEpisodes
	pass.Pass, err = closeWith(ctx, p.ledger, pass.Pass, kept)
	return pass, err
}

// notePass keeps what only the one who scored a group knows of it, where that is news.
func (p *passRun) notePass(ctx context.Context, pass harness.ScorePass, r Report) error {
	old, err := reportOf(pass)
	if err != nil {
		return err
	}
	kept := p.add(old, r)
	if reflect.DeepEqual(old, kept) {
		return nil
	}
	raw, err := json.Marshal(kept)
	if err != nil {
		return fmt.Errorf("write the report of score pass %d: %w", pass.ID, err)
	}
	return p.ledger.NoteScorePass(ctx, pass.ID, raw)
}

// add is a stored report after another call.
func (p *passRun) add(old storedReport, r Report) storedReport {
	if r.Check != nil {
		old.Check = r.Check
	}
	if p.totals.versions {
		old.LowVersion, old.HighVersion = lower(old.LowVersion, p.totals.low), higher(old.HighVersion, p.totals.high)
	}
	return old
}

// Finish marks passes as done that calls with Groups have filled, with a report of all that they hold. Each is
// as the ledger has it now. A later call opens it again.
func Finish(ctx context.Context, ledger Ledger, passes ...harness.ScorePass) error {
	for _, pass := range passes {
		kept, err := reportOf(pass)
		if err != nil {
			return err
		}
		if kept.Counts, err = ledger.ScoreCounts(ctx, pass.ID); err != nil {
			return err
		}
		groups, err := ledger.ScoreGroups(ctx, pass.RunID)
		if err != nil {
			return err
		}
		kept.FailedEpisodes, kept.OpenEpisodes = 0, 0
		for _, g := range groups {
			kept.FailedEpisodes += g.Failed
			kept.OpenEpisodes += g.Open
		}
		if _, err := closeWith(ctx, ledger, pass, kept); err != nil {
			return err
		}
	}
	return nil
}

func reportOf(pass harness.ScorePass) (r storedReport, err error) {
	if err = json.Unmarshal(pass.Report, &r); err != nil {
		err = fmt.Errorf("read the report of score pass %d: %w", pass.ID, err)
	}
	return r, err
}

func closeWith(ctx context.Context, ledger Ledger, pass harness.ScorePass, kept storedReport) (harness.ScorePass, error) {
	raw, err := json.Marshal(kept)
	if err != nil {
		return pass, fmt.Errorf("write the report of score pass %d: %w", pass.ID, err)
	}
	pass.State, pass.Report = "done", raw
	return pass, ledger.CloseScorePass(ctx, pass.ID, raw)
}

func lower(old *int32, v int32) *int32 {
	if old != nil {
		v = min(*old, v)
	}
	return &v
}

func higher(old *int32, v int32) *int32 {
	if old != nil {
		v = max(*old, v)
	}
	return &v
}

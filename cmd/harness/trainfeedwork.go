package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/creditrun"
	"github.com/hindsightrl/harness/store"
	"github.com/hindsightrl/harness/teacher"
)

// How work looks for work, and what it does when a teacher's server fails.
const (
	workEvery   = 500 * time.Millisecond
	workChunk   = 16 // groups that are scored together
	workWait    = time.Second
	workMaxWait = time.Minute
	lastWords   = 2 * time.Second // in which trainers that ask for more learn that there is none
)

// work scores and gives credit to groups as they finish. It returns when all is delivered and no group comes
// any more, and after a stop once nothing is collected and all that was is ready.
func (t *trainFeed) work(ctx context.Context) error {
	tick := time.NewTicker(workEvery)
	defer tick.Stop()
	wait := workWait
	for {
		over := t.collected.Load() // before looking: what was collected until now is seen
		err := t.workOnce(ctx)
		switch {
		case err == nil:
			wait = workWait
		case ctx.Err() != nil || !mends(err):
			return err
		default:
			t.obs.workFailed()
			t.g.log.Error("scoring failed and is tried again", "in", wait, "error", err)
			if !pause(ctx, t.st.soft, wait) {
				return err
			}
			wait = min(2*wait, workMaxWait)
			continue
		}
		if over {
			c, err := t.src.Counts(ctx)
			if err != nil {
				return err
			}
			if t.st.soft.Err() != nil {
				return t.endPasses(ctx, 0)
			}
			if c.Drained() {
				if err := t.endPasses(ctx, 0); err != nil {
					return err
				}
				t.g.log.Info("all groups are delivered", "run", t.of.Name)
				pause(ctx, t.st.soft, lastWords)
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.wake:
		case <-tick.C:
		}
	}
}

// mends reports whether another try may do better: a server that failed.
func mends(err error) bool {
	f := (*harness.Failure)(nil)
	return errors.As(err, &f) && f.Kind == harness.FailServer && f.Retryable
}

// pause waits; false where the process is to stop.
func pause(ctx, soft context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-soft.Done():
	}
	return false
}

// job is what groups get credit by at one moment: the configuration under the newest version.
type job struct {
	version int32
	cfg     creditrun.Config
	score   harness.ScorePass // zero: none
	key     string
}

// workOnce works on everything that is finished and not delivered. What a pass of the present moment has
// already is left alone; a new version whose λ is another one gives all that waits new credit.
func (t *trainFeed) workOnce(ctx context.Context) error {
	if err := t.recount(ctx); err != nil {
		return err
	}
	free, err := t.book.Free(ctx, 0)
	if err != nil || len(free) == 0 {
		return err
	}
	j := job{}
	if j.version, err = t.book.Version(ctx); err != nil {
		return err
	}
	t.obs.finished(free)
	if free, err = t.dropStale(ctx, free, j.version); err != nil || len(free) == 0 {
		return err
	}
	if free, err = t.dropFlat(ctx, free); err != nil || len(free) == 0 {
		return err
	}
	if err := t.plans(ctx, &j); err != nil {
		return err
	}
	todo := free
	if pass, err := t.db.CreditPassByKey(ctx, j.key); err == nil {
		if todo, err = t.book.Free(ctx, pass.ID); err != nil {
			return err
		}
		// What has finished since was not judged yet; its turn comes.
		todo = slices.DeleteFunc(todo, func(g int) bool { return !slices.Contains(free, g) })
	} else if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	for chunk := range slices.Chunk(todo, workChunk) {
		if err := t.workChunk(ctx, j, chunk); err != nil {
			return err
		}
		if now, err := t.book.Version(ctx); err != nil || now != j.version {
			t.poke() // the rest goes under the new one
			return err
		}
	}
	return nil
}

// plans completes a job: the schedule's λ, the teacher's pass, the key.
func (t *trainFeed) plans(ctx context.Context, j *job) (err error) {
	j.cfg = t.plan.credit
	if j.cfg.Token != credit.TokenNone {
		if update := int(max(j.version, 0)); j.cfg.SERL.DecaySteps > 0 {
			j.cfg.Update = update
		}
		if j.cfg.SERL.LambdaAt(j.cfg.Update) == 0 {
			j.cfg.Token = credit.TokenNone // a teacher would be asked for nothing
		}
	}
	if j.cfg.Token != credit.TokenNone {
		if j.score, err = t.scorePass(ctx, j.version); err != nil {
			return err
		}
	}
	// Each group is a batch of its own here, so its pass is never one of harness credit.
	j.key, err = j.cfg.Key(fmt.Sprintf("by group: %s %d", t.of.Name, t.of.Created.UnixMilli()), j.score.Key)
	return err
}

// scorePass opens the teacher's pass. A teacher behind a server may have got other weights with the version,
// and says so.
func (t *trainFeed) scorePass(ctx context.Context, version int32) (harness.ScorePass, error) {
	if t.opened.ID != 0 && t.taught == version {
		return t.opened, nil
	}
	if t.opened.ID != 0 && onServer(t.plan.score.teacher.spec) {
		if err := t.openTeacher(ctx); err != nil {
			return harness.ScorePass{}, err
		}
	}
	r, err := t.ask(ctx, []int{})
	if err != nil {
		return harness.ScorePass{}, err
	}
	t.opened, t.taught = r.Passes[0].Pass, version
	return t.opened, t.endPasses(ctx, t.opened.ID)
}

// ask has the teacher score groups.
func (t *trainFeed) ask(ctx context.Context, groups []int) (teacher.Report, error) {
	return teacher.Score(ctx, t.db, t.teacher.engine, t.askFor(groups))
}

func (t *trainFeed) askFor(groups []int) teacher.Options {
	opt := t.plan.options
	opt.RunID, opt.Teacher, opt.Concurrency, opt.Groups, opt.WholeGroups, opt.Log = t.of.ID, t.teacher.identity, t.teacher.concurrency, groups, true, t.g.log
	return opt
}

func (t *trainFeed) workChunk(ctx context.Context, j job, groups []int) error {
	if j.score.ID != 0 {
		began := t.g.now()
		r, err := t.ask(ctx, groups)
		t.obs.scored(groups, began, t.g.now(), r, err)
		if err != nil {
			return err
		}
	}
	for _, g := range groups {
		began := t.g.now()
		t.obs.crediting(g)
		rows, err := t.giveCredit(ctx, j, g)
		if err != nil {
			return fmt.Errorf("give credit to group %d: %w", g, explainCreditError(err))
		}
		now := t.g.now()
		ended, known := t.ages.ready(g)
		t.obs.credited(g, rows, began, now, ended, known)
		t.g.log.Debug("group ready", "group", g, "rows", rows, "version", j.version)
	}
	return nil
}

// giveCredit gives one group credit and adds it to the pass, which makes it ready.
func (t *trainFeed) giveCredit(ctx context.Context, j job, group int) (rows int, err error) {
	src, err := t.db.FeedSteps(ctx, t.of.ID, group, 0, j.score.ID)
	if err != nil {
		return 0, err
	}
	t.ages.see(group, src)
	steps, err := t.creditSteps(ctx, j, group, src)
	if err != nil {
		return 0, err
	}
	res, err := creditrun.Run(steps, j.cfg)
	if errors.Is(err, creditrun.ErrNoScores) {
		cfg := j.cfg // no step of the group has a context: all weights are 1, which is no token stage
		cfg.Token = credit.TokenNone
		res, err = creditrun.Run(steps, cfg)
	}
	if err != nil {
		return 0, err
	}
	config, err := json.Marshal(j.cfg)
	if err != nil {
		return 0, err
	}
	report, err := t.grownReport(ctx, j.key, res.Report)
	if err != nil {
		return 0, err
	}
	out := make([]store.Credit, len(res.Rows))
	for i := range res.Rows {
		out[i] = storedCredit(&res.Rows[i])
	}
	_, err = t.db.GrowCreditPass(ctx, store.CreditPass{
		RunID: t.of.ID, Key: j.key, Scores: j.score.Key, CodeVersion: codeVersion(), Config: config, Report: report,
	}, out)
	return len(out), err
}

// creditSteps lays a group's steps out for credit. Anchors are read only for estimators that look at them.
func (t *trainFeed) creditSteps(ctx context.Context, j job, group int, src []harness.FeedStep) ([]creditrun.Step, error) {
	type place struct {
		episode int64
		index   int
	}
	anchors := map[place]string{}
	if n := j.cfg.Estimator.Name; n == credit.GiGPO || n == credit.HGPO {
		episodes, err := t.db.GroupEpisodes(ctx, t.of.ID, group)
		if err != nil {
			return nil, err
		}
		for _, e := range episodes {
			for _, s := range e.Steps {
				anchors[place{e.ID, s.Index}] = s.Anchor
			}
		}
	}
	steps := make([]creditrun.Step, len(src))
	for i := range src {
		s := &src[i]
		steps[i] = creditrun.Step{
			ID: s.StepID, Episode: s.Episode, Group: s.Group, Sample: s.Sample, Index: s.Index, Return: s.Outcome.Reward, Reward: s.Reward,
			Task: s.Outcome.Score, Won: s.Outcome.Won,
			Valid: s.Valid, Anchor: anchors[place{s.Episode, s.Index}], Tokens: -1, Version: -1,
			Fork: creditFork(s.Fork),
		}
		if k := s.Tokens; k != nil {
			steps[i].Tokens = len(k.IDs)
			steps[i].Entropies, steps[i].EntropyLow, steps[i].EntropyHigh = k.Entropies, k.EntropyLow, k.EntropyHigh
			if len(k.Versions) > 0 {
				steps[i].Version = slices.Min(k.Versions)
			}
		}
		if sc := s.Scored; sc != nil && sc.Status == harness.ScoreDone {
			steps[i].Score = &creditrun.Score{Student: sc.Student.Values, Teacher: sc.Teacher.Values, Action: sc.ActionMask}
		}
	}
	return steps, nil
}

// grownReport is the report of a pass after another group.
func (t *trainFeed) grownReport(ctx context.Context, key string, more creditrun.Report) (json.RawMessage, error) {
	pass, err := t.db.CreditPassByKey(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return json.Marshal(more)
	}
	if err != nil {
		return nil, err
	}
	saved, err := decodePass(pass)
	if err != nil {
		return nil, err
	}
	return json.Marshal(addReports(saved.report, more))
}

// dropStale gives up what is too old, where that is asked for, and returns the rest.
func (t *trainFeed) dropStale(ctx context.Context, groups []int, version int32) ([]int, error) {
	limit := t.plan.Pace.DropStaler
	if limit < 0 {
		return groups, nil
	}
	kept := groups[:0:0]
	for _, g := range groups {
		oldest, known := t.ages.oldest(g)
		if !known {
			src, err := t.db.FeedSteps(ctx, t.of.ID, g, 0, 0)
			if err != nil {
				return nil, err
			}
			oldest, known = t.ages.see(g, src)
		}
		age := int(max(version, 0)) - int(oldest)
		if !known || age <= limit {
			kept = append(kept, g)
			continue
		}
		dropped, err := t.book.Drop(ctx, g, fmt.Sprintf("%d versions old", age))
		if err != nil {
			return nil, err
		}
		if dropped {
			t.lost.Add(1)
			t.obs.dropped(g)
			t.g.log.Warn("group dropped", "group", g, "age", age)
		}
	}
	return kept, nil
}

// ages remembers when groups ended and how old their tokens are. It forgets rather than grows.
type ages struct {
	mu       sync.Mutex
	ends     map[int]time.Time
	versions map[int]int32 // −1: its tokens carry none
}

const maxAges = 1 << 16

func (a *ages) ended(group int, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ends == nil || len(a.ends) >= maxAges {
		a.ends = map[int]time.Time{}
	}
	a.ends[group] = at
}

// ready returns when the group's last episode ended, once.
func (a *ages) ready(group int) (time.Time, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, ok := a.ends[group]
	delete(a.ends, group)
	return at, ok
}

// see notes the lowest version among a group's tokens.
func (a *ages) see(group int, steps []harness.FeedStep) (int32, bool) {
	oldest := int32(-1)
	for i := range steps {
		if k := steps[i].Tokens; k != nil && len(k.Versions) > 0 {
			if v := slices.Min(k.Versions); oldest < 0 || v < oldest {
				oldest = v
			}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.versions == nil || len(a.versions) >= maxAges {
		a.versions = map[int]int32{}
	}
	a.versions[group] = oldest
	return oldest, oldest >= 0
}

func (a *ages) oldest(group int) (int32, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	v, ok := a.versions[group]
	return v, ok && v >= 0
}

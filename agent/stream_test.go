package agent

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
)

// listed makes a sequence of a list.
func listed(refs []harness.EpisodeRef) func(context.Context) iter.Seq2[harness.EpisodeRef, error] {
	return func(context.Context) iter.Seq2[harness.EpisodeRef, error] {
		return func(yield func(harness.EpisodeRef, error) bool) {
			for _, r := range refs {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// TestASequenceGivesTheSameEpisodesAsAList: how episodes become known never shows in them.
func TestASequenceGivesTheSameEpisodesAsAList(t *testing.T) {
	t.Parallel()
	refs := panelRefs(6, 3)
	run := func(f func(Config) (Stats, error)) *memory {
		cfg, rec := quick(t, &corridor{}, noise(false))
		cfg.Workers, cfg.MaxSteps = 4, 6
		if stats, err := f(cfg); err != nil || stats.Done != len(refs) || stats.Episodes != len(refs) {
			t.Fatalf("%+v, %v", stats, err)
		}
		return rec
	}
	want := run(func(cfg Config) (Stats, error) { return Run(t.Context(), t.Context(), refs, cfg) })
	got := run(func(cfg Config) (Stats, error) { return RunSeq(t.Context(), t.Context(), listed(refs), cfg) })
	sameEpisodes(t, want, got)
}

// TestRoundsDrawOtherNumbers: the same task and sample in another round has other random numbers, and the
// first round those of a run without rounds.
func TestRoundsDrawOtherNumbers(t *testing.T) {
	t.Parallel()
	ids := func(round int) []int32 {
		cfg, rec := quick(t, &corridor{}, noise(false))
		cfg.MaxSteps, cfg.RunSeed = 3, 7
		r := ref(0, 0)
		r.Round = round
		if _, err := RunSeq(t.Context(), t.Context(), listed([]harness.EpisodeRef{r}), cfg); err != nil {
			t.Fatal(err)
		}
		return rec.episodes[r.String()].attempts[0].steps[0].Tokens.IDs
	}
	first, again, second := ids(0), ids(0), ids(1)
	if !slices.Equal(first, again) || first[0] == second[0] || first[1] == second[1] {
		t.Errorf("round 0 %v and %v, round 1 %v", first, again, second)
	}
	if want := int32(harness.CallSeed(7, ref(0, 0).Task, 0, 0)); first[0] != want {
		t.Errorf("call seed %d, want %d", first[0], want)
	}
	if harness.RoundSeed(7, 1) == harness.RoundSeed(7, 2) || harness.RoundSeed(7, 1) == harness.RoundSeed(8, 1) {
		t.Error("two rounds have the same seed")
	}
}

// TestASequenceThatBlocksEndsWithTheRun: a soft stop, and an error of an episode.
func TestASequenceThatBlocksEndsWithTheRun(t *testing.T) {
	t.Parallel()
	blocks := func(first []harness.EpisodeRef, blocked func()) func(context.Context) iter.Seq2[harness.EpisodeRef, error] {
		return func(ctx context.Context) iter.Seq2[harness.EpisodeRef, error] {
			return func(yield func(harness.EpisodeRef, error) bool) {
				for _, r := range first {
					if !yield(r, nil) {
						return
					}
				}
				blocked()
				<-ctx.Done()
				yield(harness.EpisodeRef{}, ctx.Err())
			}
		}
	}
	cfg, _ := quick(t, &corridor{}, noise(false))
	cfg.MaxSteps = 3
	soft, cancel := context.WithCancel(t.Context())
	stats, err := RunSeq(soft, t.Context(), blocks(panelRefs(1, 2), cancel), cfg)
	if !errors.Is(err, ErrStopped) || stats.Episodes != 2 || stats.Done+stats.Left != 2 {
		t.Errorf("stopped: %+v, %v", stats, err)
	}
	cfg, rec := quick(t, &corridor{}, noise(false))
	rec.broken = errors.New("disk full")
	if _, err := RunSeq(t.Context(), t.Context(), blocks(panelRefs(1, 1), func() {}), cfg); !errors.Is(err, rec.broken) {
		t.Errorf("broken recorder: %v", err)
	}
}

func TestErrorsOfASequenceEndTheRun(t *testing.T) {
	t.Parallel()
	cfg, _ := quick(t, &corridor{}, noise(false))
	bad := errors.New("no more")
	_, err := RunSeq(t.Context(), t.Context(), func(context.Context) iter.Seq2[harness.EpisodeRef, error] {
		return func(yield func(harness.EpisodeRef, error) bool) { yield(harness.EpisodeRef{}, bad) }
	}, cfg)
	if !errors.Is(err, bad) {
		t.Errorf("got %v", err)
	}
	strange := ref(0, 0)
	strange.Task.Env = "nowhere"
	if _, err := RunSeq(t.Context(), t.Context(), listed([]harness.EpisodeRef{strange}), cfg); err == nil || errors.Is(err, ErrStopped) {
		t.Errorf("unknown environment: %v", err)
	}
}

// TestASequenceTellsSuitesWhatComesNext: of every episode, in order, as many ahead as there are workers; at a
// stop those that have not begun are left, and nothing more is taken.
func TestASequenceTellsSuitesWhatComesNext(t *testing.T) {
	t.Parallel()
	const workers = 2
	refs := panelRefs(6, 2)
	env := &asked{}
	cfg, rec := quick(t, &env.corridor, noise(false))
	cfg.Suites = map[string]harness.Suite{"corridor": env}
	cfg.Workers, cfg.MaxSteps = workers, 6
	stats, err := RunSeq(t.Context(), t.Context(), listed(refs), cfg)
	if err != nil || stats.Done != len(refs) {
		t.Fatalf("%+v, %v", stats, err)
	}
	var want []string
	for _, r := range refs {
		want = append(want, r.Task.ID)
	}
	if diff := cmp.Diff(want, env.tasks); diff != "" {
		t.Error(diff)
	}
	plain, list := quick(t, &corridor{}, noise(false))
	plain.MaxSteps = cfg.MaxSteps
	if _, err := Run(t.Context(), t.Context(), refs, plain); err != nil {
		t.Fatal(err)
	}
	sameEpisodes(t, list, rec)

	env = &asked{}
	cfg.Suites = map[string]harness.Suite{"corridor": env}
	stopped := make(chan struct{})
	soft, stop := context.WithCancel(t.Context())
	cfg.OnEvent = func(e Event) {
		if e.Kind == EventStarted {
			<-stopped // no worker is free before all that may be is taken
		}
	}
	cfg.Recorder = newMemory()
	stats, err = RunSeq(soft, t.Context(), func(context.Context) iter.Seq2[harness.EpisodeRef, error] {
		return func(yield func(harness.EpisodeRef, error) bool) {
			for i, r := range refs {
				if i == 2*workers-1 {
					stop()
					close(stopped)
				}
				if !yield(r, nil) {
					return
				}
			}
		}
	}, cfg)
	if !errors.Is(err, ErrStopped) || stats.Attempts > workers || stats.Episodes != len(env.tasks) || stats.Done+stats.Left != stats.Episodes {
		t.Errorf("stopped: %+v, %v, %d told", stats, err, len(env.tasks))
	}
}

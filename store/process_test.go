package store

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

const (
	planTasks  = 12
	planGroup  = 2
	planLength = 9
)

// plan is what every process of these tests records: episodes whose steps depend only on the
// episode. Some attempts fail once, some episodes fail for good.
func plan(ctx context.Context, s *Store, workers int, acked func(attempt int64, step int)) error {
	run, err := s.RunByName(ctx, "plan")
	if errors.Is(err, ErrNotFound) {
		run, err = s.CreateRun(ctx, RunSpec{Name: "plan", Panel: testPanel(planTasks), GroupSize: planGroup, Seed: 3})
	}
	if err != nil {
		return err
	}
	if err := s.SetRunState(ctx, run.ID, RunRunning, ""); err != nil {
		return err
	}
	refs, err := s.Pending(ctx, run.ID)
	if err != nil {
		return err
	}
	work := make(chan harness.EpisodeRef, len(refs))
	for _, ref := range refs {
		work <- ref
	}
	close(work)
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for ref := range work {
				for again := true; again && errs[i] == nil; {
					again, errs[i] = planEpisode(ctx, s, run.ID, ref, acked)
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return s.SetRunState(ctx, run.ID, RunDone, "")
}

func planEpisode(ctx context.Context, s *Store, run int64, ref harness.EpisodeRef, acked func(int64, int)) (again bool, err error) {
	rec := s.Recorder(run)
	id, recorded, err := rec.Begin(ctx, ref)
	if err != nil {
		return false, err
	}
	attempts, err := s.Attempts(ctx, ref.ID)
	if err != nil {
		return false, err
	}
	number := attempts[len(attempts)-1].Number
	g := newGame(uint64(ref.ID), 20*(ref.Group%2))
	var all []harness.Step
	for k := range planLength {
		st := g.step()
		st.PolicyTime, st.EnvTime = 0, 0
		all = append(all, st)
		if k < len(recorded) {
			continue
		}
		if k == 3 && ref.Group%5 == 1 && number == 1 {
			return true, rec.Fail(ctx, id, &harness.Failure{Kind: harness.FailServer, Op: "step 3", Retryable: true, Err: errors.New("gone")}, false)
		}
		if k == 4 && ref.Group%7 == 2 {
			return false, rec.Fail(ctx, id, &harness.Failure{Kind: harness.FailEnv, Op: "step 4", Err: errors.New("broken")}, true)
		}
		if err := rec.Step(ctx, id, st); err != nil {
			return false, err
		}
		acked(id, k-1)
	}
	if err := rec.Finish(ctx, id, outcome(all)); err != nil {
		return false, err
	}
	acked(id, planLength-1)
	return false, nil
}

// childRecord records the plan at args[0] and reports each durable step. After args[1] reports it waits to be
// killed: however slow the parent is to do so, the run does not end before.
func childRecord(args []string) error {
	ctx := context.Background()
	reports, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	s, err := Open(ctx, args[0], Config{Now: testClock()})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	err = plan(ctx, s, 8, func(attempt int64, step int) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf("%d %d\n", attempt, step) // os.Stdout is not buffered: it is out before the kill
		if reports--; reports == 0 {
			time.Sleep(time.Hour) // with mu: the others come to what they record next, and no further
		}
	})
	return errors.Join(err, s.Close())
}

func child(tb testing.TB, role string, args ...string) *exec.Cmd {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), exe, args...)
	cmd.Env = append(os.Environ(), childEnv+"="+role)
	return cmd
}

// A process that is killed again and again loses nothing that it was told is durable, and what it
// ends up with is what a process that was never killed records.
func TestKilledProcessLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "ledger.db")
	acked := make(map[int64]int)
	kills := 0
	for finished := false; !finished; {
		finished = recordUntilKilled(t, path, 1+r.IntN(60), acked)
		if !finished {
			kills++
		}
		checkAcknowledged(t, path, acked)
	}
	if kills < 2 {
		t.Errorf("the process was killed %d times, want several", kills)
	}

	whole := newTest(t)
	if err := plan(t.Context(), whole, 3, func(int64, int) {}); err != nil {
		t.Fatal(err)
	}
	if a, b := dump(t, openTest(t, path), "plan"), dump(t, whole, "plan"); a != b {
		t.Errorf("the killed run differs from the uninterrupted one:\n%s", firstDifference(a, b))
	}
}

// recordUntilKilled kills a recording process after it has acknowledged that many steps, and
// reports whether the process was finished before that.
func recordUntilKilled(t *testing.T, path string, after int, acked map[int64]int) (finished bool) {
	t.Helper()
	cmd := child(t, "record", path, strconv.Itoa(after))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 1; lines.Scan(); n++ {
		var (
			attempt int64
			step    int
		)
		if _, err := fmt.Sscan(lines.Text(), &attempt, &step); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		acked[attempt] = max(acked[attempt], step+1)
		if n == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = cmd.Wait()
	if stderr.Len() > 0 {
		t.Fatalf("the child failed: %v\n%s", err, &stderr)
	}
	return err == nil
}

func checkAcknowledged(t *testing.T, path string, acked map[int64]int) {
	t.Helper()
	s, err := OpenReadOnly(t.Context(), path)
	if errors.Is(err, ErrNoLedger) {
		return // killed before the first commit
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	clean(t, s)
	for attempt, want := range acked {
		got, err := collect(s.Steps(t.Context(), attempt))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) < want {
			t.Errorf("attempt %d: %d steps were acknowledged, %d are there", attempt, want, len(got))
		}
	}
}

func clean(t *testing.T, s *Store) {
	t.Helper()
	found, err := s.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Errorf("check: %v", v)
	}
}

func dump(t *testing.T, s *Store, name string) string {
	t.Helper()
	run, err := s.RunByName(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := s.DumpCanonical(t.Context(), run.ID, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d:\n%s\n%s", i, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d lines and %d lines", len(x), len(y))
}

// childRead reads everything at args[0] over and over until its standard input ends.
func childRead(args []string) error {
	ctx := context.Background()
	s, err := OpenReadOnly(ctx, args[0])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	stop := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(stop)
	}()
	for last := 0; ; {
		n, err := readAll(ctx, s)
		if err != nil {
			return err
		}
		if n < last {
			return fmt.Errorf("%d steps, %d before", n, last)
		}
		last = n
		select {
		case <-stop:
			if last, err = readAll(ctx, s); err != nil {
				return err
			}
			fmt.Println(last)
			return s.Close()
		default:
		}
	}
}

func readAll(ctx context.Context, s *Store) (n int, err error) {
	runs, err := s.Runs(ctx)
	if err != nil {
		return 0, err
	}
	for _, run := range runs {
		if _, err := s.Summary(ctx, run.ID); err != nil {
			return 0, err
		}
		for e, err := range s.Episodes(ctx, run.ID, Filter{}) {
			if err != nil {
				return 0, err
			}
			attempts, err := s.Attempts(ctx, e.ID)
			if err != nil {
				return 0, err
			}
			for _, a := range attempts {
				all, err := collect(s.Steps(ctx, a.ID))
				if err != nil {
					return 0, err
				}
				n += len(all)
			}
		}
	}
	found, err := s.Check(ctx)
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("check: %v", found)
	}
	return n, err
}

func TestAnotherProcessReadsWhileARunWrites(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	s, err := Open(t.Context(), path, Config{Now: testClock()})
	if err != nil {
		t.Fatal(err)
	}
	cmd := child(t, "read", path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatalf("the reader did not start: %v\n%s", cmd.Wait(), &stderr)
	}
	if err := plan(t.Context(), s, 8, func(int64, int) {}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // the reader must not keep the writer from closing, nor mind
		t.Fatal(err)
	}
	stdin.Close()
	lines.Scan()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the reader failed: %v\n%s", err, &stderr)
	}
	r, err := OpenReadOnly(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n, err := readAll(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if got := lines.Text(); got != fmt.Sprint(n) || n == 0 {
		t.Errorf("the reader ended with %q steps, the ledger holds %d", got, n)
	}
}

// childOpen opens args[1] for writing (args[0] is "rw") or reading and prints the error and its hint.
func childOpen(args []string) error {
	var (
		s   *Store
		err error
	)
	if args[0] == "rw" {
		s, err = Open(context.Background(), args[1], Config{Now: testClock()})
	} else {
		s, err = OpenReadOnly(context.Background(), args[1])
	}
	if err != nil {
		fmt.Printf("%v\nhint: %s\n", err, errext.Hint(err))
		return nil
	}
	if _, err := s.Runs(context.Background()); err != nil {
		return err
	}
	fmt.Println("opened")
	return s.Close()
}

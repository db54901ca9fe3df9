package creditverify

import (
	"bytes"
	"compress/gzip"
	"os"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/internal/testutil"
)

func TestReferenceVectors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file  string
		least int
	}{
		{"credit/group_advantages.json", 40},
		{"credit/gigpo_hgpo.json", 30},
		{"credit/entropy_credit.json", 40},
		{"serl/serl_weights.json", 120},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			f, err := os.Open(testutil.Shared(t, "vectors/"+c.file))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			passed, failed, err := Verify(c.file, f, func(line string) { t.Error(line) })
			if err != nil {
				t.Fatal(err)
			}
			if failed != 0 || passed < c.least {
				t.Errorf("%d passed, %d failed, want at least %d and 0", passed, failed, c.least)
			}
		})
	}
}

const oneEntropyCase = `{"group":["a","a"],"trajectory":["x","y"],"mean_entropy":[0.5,1.5],"lam":1.0,"eps":1e-08,
"min_range":0.1,"alpha_group":[1.4621171542,0.5378828258],"alpha_trajectory_norm":[1,1],
"alpha_batch_norm":[1.4621171542,0.5378828258],"gamma_ear":[1.2,0.8],"gamma_ear_k05_c01":[1.1,0.9]}`

func TestVerifyReportsMismatches(t *testing.T) {
	t.Parallel()
	// The two α above are written with ten digits, which is too few for 1e-12.
	var lines []string
	passed, failed, err := Verify("x.json", strings.NewReader("["+oneEntropyCase+"]"), func(s string) { lines = append(lines, s) })
	if err != nil || passed != 0 || failed != 1 {
		t.Fatalf("Verify = %d, %d, %v, want 0 passed, 1 failed", passed, failed, err)
	}
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "x.json: entropy credit, case 0: AEM α by ") {
		t.Errorf("reported %q", lines)
	}
	// The caller may not care.
	if _, failed, _ := Verify("x.json", strings.NewReader("["+oneEntropyCase+"]"), nil); failed != 1 {
		t.Errorf("without a report: %d failed, want 1", failed)
	}
}

const oneGroupCase = `{"group":["a","a"],"trajectory":["x","y"],"token_rewards":[[0,1],[0,0]],"response_mask":[[1,1],[1,0]],
"out":{"grpo_cross1_std0":[[0.5,0.5],[-0.5,0]],"rloo_cross0":[[1,1],[-1,0]]}}`

func TestVerifyReadsPlainAndGzipped(t *testing.T) {
	t.Parallel()
	plain := "[" + oneGroupCase + "," + oneGroupCase + "]"
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write([]byte(plain)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"plain": plain, "gzipped": zipped.String()} {
		passed, failed, err := Verify(name, strings.NewReader(text), func(s string) { t.Error(s) })
		if err != nil || passed != 2 || failed != 0 {
			t.Errorf("%s: Verify = %d, %d, %v, want 2 passed", name, passed, failed, err)
		}
	}
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"not JSON", "hello", "decode the array of cases"},
		{"empty", "[]", "no cases"},
		{"no case", "[1]", "case 0: decode"},
		{"unknown kind", `[{"x":1}]`, "no known kind"},
		{"broken gzip", "\x1f\x8bxx", "unzip"},
		{"short column", strings.Replace("["+oneGroupCase+"]", `["x","y"]`, `["x"]`, 1), "trajectory has 1 values, want 2"},
		{"wrong type", strings.Replace("["+oneGroupCase+"]", `["x","y"]`, `7`, 1), "case 0: decode"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := Verify("f", strings.NewReader(c.text), nil)
			if err == nil || !strings.HasPrefix(err.Error(), "verify f: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Verify: %v, want %q in it", err, c.want)
			}
		})
	}
}

// TestToleranceIsTight checks that the allowance near zero does not let wrong formulas pass: a value
// that is off by a thousandth of its operands is a mismatch.
func TestToleranceIsTight(t *testing.T) {
	t.Parallel()
	wrong := strings.Replace("["+oneGroupCase+"]", "[[0.5,0.5]", "[[0.501,0.5]", 1)
	if _, failed, err := Verify("f", strings.NewReader(wrong), nil); err != nil || failed != 1 {
		t.Errorf("%d failed, %v, want 1", failed, err)
	}
	unknown := strings.Replace("["+oneGroupCase+"]", "rloo_cross0", "rloo_cross7", 1)
	if _, failed, err := Verify("f", strings.NewReader(unknown), nil); err != nil || failed != 1 {
		t.Errorf("unknown output: %d failed, %v, want 1", failed, err)
	}
}

// TestToleranceFollowsTheSample holds trajectory statistics of almost equal first rows against what the
// original computes in float32, where a later row of another return widens the group but not the sample; and
// a return near zero that is a sum of rewards of both signs.
func TestToleranceFollowsTheSample(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"trajectories": `{"group":["g","g","g"],"trajectory":["a","a","b"],"token_rewards":[[10],[0],[9.899999618530273]],
"response_mask":[[1],[1],[1]],"out":{"grpo_cross0_std1":[[0.7070967555046082],[-140.7117156982422],[-0.7070967555046082]]}}`,
		"returns": `{"group":["g","g"],"trajectory":["a","a"],"step":[0,1],"anchor":["x","y"],"step_reward":[-0.949999988079071,1.0],
"episode_reward":[0.05,0.05],"gamma":0.95,"discounted_returns":[0,1.0],
"gigpo_mean_norm":[0,0],"gigpo_mean_std_norm":[0,0],"hgpo_default_K1":[0,0],"hgpo_default_K2":[0,0]}`,
	} {
		passed, failed, err := Verify(name, strings.NewReader("["+text+"]"), func(s string) { t.Error(s) })
		if err != nil || passed != 1 || failed != 0 {
			t.Errorf("%s: Verify = %d, %d, %v, want 1 passed", name, passed, failed, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	f.Add("[" + oneGroupCase + "]")
	f.Add("[" + oneEntropyCase + "]")
	f.Add(`[{"student_logprobs":[],"teacher_logprobs":[],"serl_mask":[]}]`)
	f.Add(`[{"anchor":["a"],"discounted_returns":[1],"group":["g"]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		passed, failed, err := Verify("fuzz", strings.NewReader(text), nil)
		if err == nil && passed+failed == 0 {
			t.Error("no error and no case")
		}
	})
}

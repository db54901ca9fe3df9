package browser

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/hindsightrl/harness/envs/webshop"
	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/shop"
	"github.com/hindsightrl/harness/internal/testutil"
)

// recorded is an episode that the original's text environment played.
type recorded struct {
	Session int `json:"session"`
	Reset   struct {
		Observation string `json:"observation"`
	} `json:"reset"`
	Steps []struct {
		Action      string  `json:"action"`
		Observation string  `json:"observation"`
		Reward      float64 `json:"reward"`
		Done        bool    `json:"done"`
	} `json:"steps"`
}

func readRecorded(t *testing.T, name string) (out []recorded) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var r recorded
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRecordedEpisodes plays what the original's text environment was recorded playing, on its data:
// the rendered pages give the recorded observations, byte for byte.
func TestRecordedEpisodes(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	const stride = 6 // all take minutes
	for _, c := range []struct {
		file    string
		variant catalog.Variant
		seed    int64
		human   bool
		mode    shop.Mode
	}{
		{"ws_text_synth_seed0", catalog.Princeton, 0, false, shop.Text},
		{"ws_rich_synth_seed0", catalog.Princeton, 0, false, shop.Rich},
		{"sw_text_human_seed42", catalog.SERL, 42, true, shop.Text},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			episodes := readRecorded(t, testutil.Shared(t, "truth/webshop/episodes_"+c.file+".jsonl"))
			nouns, err := webshop.OpenNouns(testutil.Shared(t, "truth/webshop/stub_nouns_1k.json"))
			if err != nil {
				t.Fatal(err)
			}
			real, err := webshop.New(t.Context(), testutil.Shared(t, "data/webshop"), webshop.Config{
				Shop: shop.Config{Nouns: nouns}, Variant: c.variant, Seed: c.seed, Human: c.human, Mode: c.mode,
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = real.Close() }) // it was read only
			env := open(t, onShared(t, real)).(*Env)
			for i := 0; i < len(episodes); i += stride {
				playRecorded(t, env, c.seed, &episodes[i])
			}
		})
	}
}

// playRecorded plays an episode of any seed: 0 too, which a task does not name.
func playRecorded(t *testing.T, env *Env, seed int64, r *recorded) {
	t.Helper()
	if err := env.hold(t.Context()); err != nil {
		t.Fatal(err)
	}
	env.seed, env.goal, env.visited = seed, r.Session, nil
	obs, err := env.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if obs.Text != r.Reset.Observation {
		t.Fatalf("goal %d: reset shows\n%q\nwant\n%q", r.Session, obs.Text, r.Reset.Observation)
	}
	for i, s := range r.Steps {
		reason, err := env.act(t.Context(), s.Action)
		if err == nil && reason == "" {
			obs, err = env.look(t.Context())
		}
		if err != nil {
			t.Fatalf("goal %d, step %d: %q: %v", r.Session, i, s.Action, err)
		}
		if obs.Text != s.Observation {
			t.Fatalf("goal %d, step %d: %q shows\n%q\nwant\n%q", r.Session, i, s.Action, obs.Text, s.Observation)
		}
		if !s.Done {
			continue
		}
		if score, err := env.sheet.score(); env.address.kind != "done" || score != s.Reward {
			t.Errorf("goal %d, step %d: %q scores %v (%v), want %v", r.Session, i, s.Action, score, err, s.Reward)
		}
	}
}

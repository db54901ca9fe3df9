package pyrand_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/internal/pyrand"
	"github.com/hindsightrl/harness/internal/testutil"
)

// vectors is rng.json: one continuing stream per seed, drawn in the order of the fields.
type vectors struct {
	MT []struct {
		Seed      int64
		Random    []float64
		Bits      []uint64 `json:"getrandbits32"`
		Below     []int    `json:"randbelow"`
		Uniform   []float64
		Sample2   [][]float64 `json:"sample2of4"`
		Sample50  []int
		Choices   string
		Shuffle20 []int
	}
	Numpy []struct {
		Seed   uint32
		Choice []int `json:"numpy_RandomState_choice"`
		Train  []int
	}
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	raw, err := os.ReadFile(testutil.Shared(t, "truth/webshop/rng.json"))
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.MT) == 0 || len(v.Numpy) == 0 {
		t.Fatal("no vectors")
	}
	return v
}

func TestPythonStreams(t *testing.T) {
	t.Parallel()
	for _, want := range readVectors(t).MT {
		got := want
		r := pyrand.New(want.Seed)
		got.Random = fill(len(want.Random), func(int) float64 { return r.Float64() })
		got.Bits = fill(len(want.Bits), func(int) uint64 { return r.Bits(32) })
		below := []int{2, 3, 7, 12, 6910, 1 << 20}
		got.Below = fill(len(want.Below), func(i int) int { return r.IntN(below[i]) })
		got.Uniform = fill(len(want.Uniform), func(int) float64 { return r.Uniform(9.99, 24.5) })
		got.Sample2 = fill(len(want.Sample2), func(int) []float64 {
			return fill(2, func(int) float64 { return 0 })
		})
		for i := range got.Sample2 {
			for k, j := range r.Sample(4, 2) {
				got.Sample2[i][k] = float64(10 * (j + 1))
			}
		}
		got.Sample50 = r.Sample(1000, 50)
		var word strings.Builder
		for _, i := range r.Choices(26, len(want.Choices)) {
			word.WriteByte(byte('a' + i))
		}
		got.Choices = word.String()
		got.Shuffle20 = fill(20, func(i int) int { return i })
		r.Shuffle(20, func(i, j int) { got.Shuffle20[i], got.Shuffle20[j] = got.Shuffle20[j], got.Shuffle20[i] })
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("seed %d (-python +ours):\n%s", want.Seed, d)
		}
	}
}

func TestNumpyChoiceWithoutReplacement(t *testing.T) {
	t.Parallel()
	for _, want := range readVectors(t).Numpy {
		const goals = 6910
		r := pyrand.NewRandomState(want.Seed)
		if got := r.Choice(500, len(want.Choice)); !slices.Equal(got, want.Choice) {
			t.Errorf("seed %d: choice = %v, want %v", want.Seed, got, want.Choice)
		}
		r = pyrand.NewRandomState(want.Seed)
		got := r.Choice(goals-500, len(want.Train))
		for i := range got {
			got[i] += 500
		}
		if !slices.Equal(got, want.Train) {
			t.Errorf("seed %d: train = %v, want %v", want.Seed, got, want.Train)
		}
	}
}

func TestCloneGoesOnAlike(t *testing.T) {
	t.Parallel()
	r := pyrand.New(-42)
	r.Float64()
	c := r.Clone()
	if a, b := fill(700, func(int) uint64 { return r.Bits(64) }), fill(700, func(int) uint64 { return c.Bits(64) }); !slices.Equal(a, b) {
		t.Error("a clone draws otherwise")
	}
	if a, b := pyrand.New(-42).Float64(), pyrand.New(42).Float64(); a != b {
		t.Errorf("the sign of a seed counts: %v, %v", a, b)
	}
}

func TestDrawsThatPythonRefuses(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(r *pyrand.Rand){
		"sample larger than population": func(r *pyrand.Rand) { r.Sample(3, 4) },
		"empty range":                   func(r *pyrand.Rand) { r.IntN(0) },
		"no bits":                       func(r *pyrand.Rand) { r.Bits(0) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f(pyrand.New(1))
		}()
	}
}

func fill[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

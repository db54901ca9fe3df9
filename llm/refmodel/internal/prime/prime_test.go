package prime

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hindsightrl/harness/llm/refmodel/internal/vocab"
)

// kitchen is a corpus in which hot things go with microwaves and the rest does not.
func kitchen() (ts []Transcript) {
	for i, thing := range []string{"apple", "egg", "potato", "mug", "cup", "plate", "pan", "pot"} {
		task, action := "put a "+thing+" in the cabinet.", "move "+thing+" 1 to cabinet 1"
		if i < 4 {
			task, action = "put a hot "+thing+" in the cabinet.", "heat "+thing+" 1 with microwave 1"
		}
		ts = append(ts, Transcript{
			Prompt: "You play. Task: " + task, Observation: "You arrive.", Task: task, Action: action,
			Response: Respond(task, "You arrive.", action, i),
		})
	}
	return ts
}

func TestRespond(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		observation string
		n           int
		want        string
	}{
		{
			"-= Welcome =-\n\nYou stand here. Around you, you see a bed 1.", 0,
			"<think>I have to achieve: find a cup. What I see: You stand here. Around you</think><action>look</action>",
		},
		{"The drawer 1 is closed.", 4, "<think>What I have to achieve: find a cup. Now what I see: The drawer 1 is closed.</think><action>look</action>"},
	} {
		if got := Respond("find a cup. ", c.observation, "look", c.n); got != c.want {
			t.Errorf("step %d: %q, want %q", c.n, got, c.want)
		}
	}
}

func TestWander(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	seen := map[string]int{}
	for range 1000 {
		action, own := Wander(r, "take cup", []string{"look", "go to bed 1", "open safe 1", "take cup"})
		if own != (action == "take cup") {
			t.Fatalf("%q counts as the expert's: %v", action, own)
		}
		seen[action]++
	}
	if seen["take cup"] < 400 || seen["go to bed 1"] < 150 || seen["open safe 1"] < 150 || seen["look"] > 0 {
		t.Errorf("1000 steps are %v", seen)
	}
	if action, own := Wander(r, "look", nil); action != "look" || !own {
		t.Errorf("with no way to go the step is %q", action)
	}
}

func TestCorpusRoundTrip(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	if err := WriteCorpus(&file, kitchen()); err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := WriteCorpus(&again, kitchen()); err != nil || !bytes.Equal(file.Bytes(), again.Bytes()) {
		t.Errorf("equal transcripts give different files (%v)", err)
	}
	got, err := ReadCorpus(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kitchen(), got); diff != "" {
		t.Error(diff)
	}
	for _, n := range []int{0, 5, file.Len() / 2} {
		if _, err := ReadCorpus(bytes.NewReader(file.Bytes()[:n])); err == nil {
			t.Errorf("%d of %d bytes read as a corpus", n, file.Len())
		}
	}
}

func TestBuildIsDeterministic(t *testing.T) {
	t.Parallel()
	a, err := Build(kitchen())
	if err != nil {
		t.Fatal(err)
	}
	b, err := Build(kitchen())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
	if _, err := Build(nil); err == nil {
		t.Error("no transcripts give tables")
	}
}

func TestTiesFollowTheTask(t *testing.T) {
	t.Parallel()
	tables, err := Build(kitchen())
	if err != nil {
		t.Fatal(err)
	}
	v, err := vocab.Parse(tables.Vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	last := int32(-1)
	for _, tie := range tables.Ties {
		if tie.From < last {
			t.Fatalf("ties are out of order at %d", tie.From)
		}
		last = tie.From
		got[strings.TrimSpace(string(v.Bytes(tie.From)))+" "+strings.TrimSpace(strings.ToLower(string(v.Bytes(tie.To))))] = true
	}
	// Half of the tasks are hot, so the lift of heat given hot is 2: below the limit. With more cold
	// tasks it is a tie.
	if got["hot heat"] {
		t.Error("a lift of 2 makes a tie")
	}
	more := kitchen()
	for _, thing := range []string{"fork", "spoon", "knife", "ladle"} {
		task := "put a " + thing + " in the cabinet."
		more = append(more, Transcript{Prompt: "You play. Task: " + task, Task: task, Action: "move " + thing + " 1 to cabinet 1"})
	}
	tables, err = Build(more)
	if err != nil {
		t.Fatal(err)
	}
	if v, err = vocab.Parse(tables.Vocabulary); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, tie := range tables.Ties {
		found = found || string(v.Bytes(tie.From)) == " hot" && tie.To == v.Class(v.Lookup(" microwave"))
	}
	if !found {
		t.Error("hot is not tied to microwave")
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	in := map[string]map[string]int{"": {"command": 100, "shelf": 80}, "click[": {"page": 10}}
	prompts := map[string]int{"": 100, "click[": 10}
	for _, c := range []struct {
		word string
		want vocab.Flags
	}{
		{"Nothing", vocab.Bad},
		{"nothing", vocab.Content},
		{"failed", vocab.Bad},
		{"Success", vocab.Good},
		{"7", vocab.Number},
		{"the", 0},
		{"a", 0},
		{"cd", vocab.Content},
		{"command", 0},
		{"shelf", vocab.Content},
		{"Page", 0},
	} {
		if got := flagsOf(c.word, in, prompts); got != c.want {
			t.Errorf("flags of %q are %b, want %b", c.word, got, c.want)
		}
	}
}

func TestPackRoundTrip(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	if err := WriteCorpus(&file, kitchen()); err != nil {
		t.Fatal(err)
	}
	made, err := BuildFile(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	packed, err := made.Pack()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Hash) != 12 {
		t.Errorf("the hash is %q", got.Hash)
	}
	made.Hash = got.Hash
	if diff := cmp.Diff(made, got); diff != "" {
		t.Error(diff)
	}
	if got.Corpus != Digest(file.Bytes()) {
		t.Errorf("the tables name corpus %s", got.Corpus)
	}
}

func FuzzUnpack(f *testing.F) {
	made, err := Build(kitchen())
	if err != nil {
		f.Fatal(err)
	}
	packed, err := made.Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Add(packed[:20])
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, err := Unpack(data); err == nil && len(got.Hash) != 12 {
			t.Fatalf("hash %q", got.Hash)
		}
	})
}

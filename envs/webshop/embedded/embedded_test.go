package embedded_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/envtest"
	"github.com/hindsightrl/harness/envs/webshop"
	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/embedded"
	"github.com/hindsightrl/harness/envs/webshop/gen"
	"github.com/hindsightrl/harness/envs/webshop/reward"
	"github.com/hindsightrl/harness/envs/webshop/shop"
)

// The committed files hold exactly what the generator makes today. After a change of the generator:
// go generate ./envs/webshop/embedded
func TestFilesAreWhatTheGeneratorMakes(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(io.Writer, gen.Config) error{
		gen.ProductFile: gen.WriteProducts, gen.AttributeFile: gen.WriteAttributes, gen.HumanFile: gen.WriteHuman, gen.NounFile: gen.WriteNouns,
	} {
		got, err := embedded.File(name)
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if err := write(&want, gen.Config{}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s is not what the generator makes: run go generate ./envs/webshop/embedded", name)
		}
	}
}

func TestThereIsEnoughToBuy(t *testing.T) {
	t.Parallel()
	suite, err := embedded.Suite(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	categories, options := map[string]int{}, 0
	for _, p := range suite.Shop().Products {
		categories[p.Category]++
		options += len(p.Options)
	}
	if n := len(suite.Shop().Products); n < 300 || len(categories) < 10 || options < n {
		t.Errorf("%d products in %d categories with %d options", n, len(categories), options)
	}
	for _, split := range []string{"val", "train"} {
		tasks, err := suite.Tasks(t.Context(), split)
		if err != nil || len(tasks) < 500 {
			t.Errorf("split %s has %d tasks (%v), want 500 or more", split, len(tasks), err)
		}
	}
}

// The expert wins nearly every task, synthetic and human.
func TestExpertWins(t *testing.T) {
	t.Parallel()
	for _, human := range []bool{false, true} {
		suite, err := embedded.SuiteWith(t.Context(), webshop.Config{Human: human})
		if err != nil {
			t.Fatal(err)
		}
		tasks, err := suite.Tasks(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		won, played := 0, 0
		for i := 0; i < len(tasks); i += max(1, len(tasks)/60) {
			played++
			if tr := follow(t, suite, tasks[i]); tr.Won && tr.Reward == 10 {
				won++
			} else {
				t.Logf("%s: %s", tasks[i].ID, tr.Privileged)
			}
		}
		if won < played*9/10 {
			t.Errorf("human %v: the expert wins %d of %d", human, won, played)
		}
	}
}

func follow(t *testing.T, suite *webshop.Suite, task harness.Task) harness.Transition {
	t.Helper()
	env, err := suite.NewEnv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer env.Close()
	if _, err := env.Reset(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	for range 15 {
		action, err := env.(harness.Advisor).Advise(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tr, err := env.Step(t.Context(), action)
		if err != nil {
			t.Fatal(err)
		}
		if tr.Done {
			return tr
		}
	}
	t.Errorf("%s is not over after 15 steps", task.ID)
	return harness.Transition{}
}

// Tasks of all set-ups keep the contract of environments.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]webshop.Config{
		"serl": {}, "princeton": {Variant: catalog.Princeton, Mode: shop.Rich}, "human": {Human: true, Mode: shop.HTML},
	} {
		suite, err := embedded.SuiteWith(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := winnable(t, suite)
			envtest.RunWith(t, func(tb testing.TB) harness.Env {
				env, err := suite.NewEnv(t.Context())
				if err != nil {
					tb.Fatal(err)
				}
				return env
			}, task, envtest.Options{
				Steps:       8,
				UnknownTask: harness.Task{Env: webshop.Name, ID: "serl-synthetic/123456789"},
				Admissible:  shop.Offers,
			})
		})
	}
}

// winnable is the first task that the expert wins.
func winnable(t *testing.T, suite *webshop.Suite) harness.Task {
	t.Helper()
	tasks, err := suite.Tasks(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if follow(t, suite, task).Won {
			return task
		}
	}
	t.Fatal("the expert wins no task")
	return harness.Task{}
}

// Whoever chooses what was asked for is paid for it. (The original's matching takes "ash" in "white
// wash" for the colour and pays nothing.)
func TestEveryValueMeetsItself(t *testing.T) {
	t.Parallel()
	suite, err := embedded.Suite(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range suite.Shop().Products {
		for _, o := range p.Options {
			for _, v := range o.Values {
				g := catalog.Goal{OptionNames: []string{o.Name}, Options: []string{v}}
				if !reward.Meets(v, &g, 0) {
					t.Errorf("%s %q does not meet itself", o.Name, v)
				}
			}
		}
	}
}

package browser

import (
	"testing"
	"time"

	"github.com/hindsightrl/harness/envs/webshop/embedded"
)

func TestSmoke(t *testing.T) {
	shop, err := embedded.Suite(t.Context())
	if err != nil { t.Fatal(err) }
	s, err := New(shop, Config{Screenshots: "/tmp/shots"})
	if err != nil { t.Fatal(err) }
	defer s.Close()
	tasks, _ := s.Tasks(t.Context(), "")
	env, _ := s.NewEnv(t.Context())
	defer env.Close()
	t0 := time.Now()
	obs, err := env.Reset(t.Context(), tasks[3])
	t.Log(time.Since(t0), obs, err)
	if err != nil { t.Fatal(err) }
	for _, a := range []string{"search[red shirt]", "click[next >]", "click[< prev]"} {
		t0 := time.Now()
		tr, err := env.Step(t.Context(), a)
		t.Logf("%v %s: %+v %v", time.Since(t0), a, tr, err)
		if err != nil { t.Fatal(err) }
		obs = tr.Observation
	}
}

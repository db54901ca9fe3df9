package webshop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/internal/py"
	"github.com/hindsightrl/harness/envs/webshop/shop"
)

// available is what a record says can be done.
type available struct {
	SearchBar  bool     `json:"has_search_bar"`
	Clickables []string `json:"clickables"`
}

// stepRecord is one step of a recorded episode; what is absent is not compared.
type stepRecord struct {
	Action      string          `json:"action"`
	Observation *string         `json:"observation"`
	Reward      *float64        `json:"reward"`
	Done        *bool           `json:"done"`
	Available   *available      `json:"available"`
	URL         *string         `json:"url"`
	Instruction *string         `json:"instruction_text"`
	Verbose     json.RawMessage `json:"verbose_info"`
	Purchased   *string         `json:"purchased"`
	Options     json.RawMessage `json:"options"`
	Price       *float64        `json:"price"`
}

type episodeRecord struct {
	Episode int             `json:"episode"`
	Variant string          `json:"variant"`
	Mode    string          `json:"mode"`
	Human   bool            `json:"human_goals"`
	Seed    int64           `json:"seed"`
	Session json.RawMessage `json:"session"`
	Goal    *goalRecord     `json:"goal"`
	Reset   *stepRecord     `json:"reset"`
	Steps   []stepRecord    `json:"steps"`
}

// sameProcess reports whether o can have followed in the process that r was recorded in.
func (r *episodeRecord) sameProcess(o *episodeRecord) bool {
	return r != nil && r.Variant == o.Variant && r.Mode == o.Mode && r.Human == o.Human && r.Seed == o.Seed && o.Episode > r.Episode
}

func (v *run) episodes(ctx context.Context, values []json.RawMessage) error {
	var env *shop.TextEnv
	var last *episodeRecord
	return decode(ctx, values, func(_ int, r *episodeRecord) error {
		if !last.sameProcess(r) {
			var err error
			if env, err = v.textEnv(ctx, r); err != nil {
				return err
			}
		}
		last = r
		err := v.episode(env, r)
		if err != nil && !errors.As(err, new(*MismatchError)) {
			return err
		}
		v.add(fmt.Sprintf("episode %d (%s, %s, seed %d)", r.Episode, r.Variant, r.Mode, r.Seed), err)
		return nil
	})
}

func (v *run) textEnv(ctx context.Context, r *episodeRecord) (*shop.TextEnv, error) {
	variant, ok := variants[r.Variant]
	if !ok {
		var err error
		if variant, err = catalog.ParseVariant(r.Variant); err != nil {
			return nil, err
		}
	}
	w, err := v.world(ctx, worldKey{variant, r.Seed, r.Human})
	if err != nil {
		return nil, err
	}
	s, err := v.main(ctx)
	if err != nil {
		return nil, err
	}
	return shop.NewTextEnv(s, w, variant, shop.TextConfig{Mode: shop.Mode(r.Mode)})
}

// sessionOf reads a recorded session: null, a number or a name.
func sessionOf(raw json.RawMessage) (any, error) {
	var n int
	var s string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil, nil
	case json.Unmarshal(raw, &n) == nil:
		return n, nil
	case json.Unmarshal(raw, &s) == nil:
		return s, nil
	}
	return nil, fmt.Errorf("session %s: want null, a number or a name", raw)
}

func (v *run) episode(env *shop.TextEnv, r *episodeRecord) error {
	session, err := sessionOf(r.Session)
	if err != nil {
		return err
	}
	obs, err := env.Reset(session)
	if err != nil {
		return err
	}
	var first error
	if r.Goal != nil {
		first = r.Goal.compare(env.Session().Goal())
	}
	if first == nil && r.Reset != nil {
		first = at(r.Reset.compare(env, obs, shop.Status{}, true), 0, "(reset)")
	}
	// The episode is played to its end whatever differs: later ones draw from the same stream.
	for i := range r.Steps {
		step := &r.Steps[i]
		before := env.Session()
		obs, st, err := env.Step(step.Action)
		if err != nil {
			return err
		}
		if first == nil {
			first = at(step.compare(env, obs, st, false), i+1, step.Action)
		}
		if first == nil {
			first = at(step.comparePurchase(before, st), i+1, step.Action)
		}
	}
	return first
}

// at says at which step a difference is.
func at(err error, step int, action string) error {
	if m := (*MismatchError)(nil); errors.As(err, &m) {
		m.Step, m.Action = step, action
	}
	return err
}

func (r *stepRecord) compare(env *shop.TextEnv, obs string, st shop.Status, reset bool) error {
	s := env.Session()
	if r.Observation != nil {
		if err := differText("observation", obs, *r.Observation); err != nil {
			return err
		}
	}
	if !reset && r.Reward != nil {
		if err := differ("reward", st.Reward, *r.Reward); err != nil {
			return err
		}
	}
	if !reset && r.Done != nil {
		if err := differ("done", st.Done, *r.Done); err != nil {
			return err
		}
	}
	if r.Available != nil {
		if err := differ("has_search_bar", s.SearchBar(), r.Available.SearchBar); err != nil {
			return err
		}
		if err := differList("clickables", s.Clickables(), r.Available.Clickables); err != nil {
			return err
		}
	}
	if r.URL != nil {
		if err := differText("url", s.URL(), *r.URL); err != nil {
			return err
		}
	}
	if r.Instruction != nil {
		return differText("instruction_text", "Instruction: "+s.Goal().Instruction, *r.Instruction)
	}
	return nil
}

// differList names the first place where two lists part.
func differList(field string, got, want []string) error {
	for i := range max(len(got), len(want)) {
		g, w := "(end of list)", "(end of list)"
		if i < len(got) {
			g = fmt.Sprintf("%q", got[i])
		}
		if i < len(want) {
			w = fmt.Sprintf("%q", want[i])
		}
		if g != w {
			return &MismatchError{Field: fmt.Sprintf("%s[%d]", field, i), Got: g, Want: w}
		}
	}
	return nil
}

// comparePurchase looks at what was bought in the episode that has just ended.
func (r *stepRecord) comparePurchase(s *shop.Session, st shop.Status) error {
	if st.Result == nil {
		if r.Verbose != nil {
			return &MismatchError{Field: "verbose_info", Got: "nothing was bought", Want: string(r.Verbose)}
		}
		return nil
	}
	if r.Verbose != nil {
		if err := differJSON("verbose_info", json.RawMessage(py.JSON(st.Result.Info())), r.Verbose); err != nil {
			return err
		}
	}
	if r.Purchased != nil {
		if err := differ("purchased", s.Bought().ASIN, *r.Purchased); err != nil {
			return err
		}
	}
	if r.Options != nil {
		if err := differJSON("options", json.RawMessage(py.JSON(s.Options())), r.Options); err != nil {
			return err
		}
	}
	if r.Price != nil {
		return differ("price", s.Price(), *r.Price)
	}
	return nil
}

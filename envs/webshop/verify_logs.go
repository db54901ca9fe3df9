package webshop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/search"
	"github.com/hindsightrl/harness/envs/webshop/shop"
)

// logRecord is an episode that somebody recorded, with the observations before each action, or with
// everything in one transcript.
type logRecord struct {
	Task        any      `json:"task_id"`
	Session     any      `json:"session"`
	Mode        string   `json:"observation_mode"`
	Products    int      `json:"num_products"`
	Instruction string   `json:"instruction_text"`
	Reward      *float64 `json:"reward"`
	Transcript  string   `json:"transcript"`
	Actions     []string `json:"actions"`
	Steps       []struct {
		Before string `json:"observation_before"`
		Action string `json:"action"`
		Done   *bool  `json:"done"`
	} `json:"steps"`
}

// limitText is the end of an instruction that names a price limit.
var limitText = regexp.MustCompile(`, and price lower than ([0-9.]+) dollars$`)

func (v *run) logs(ctx context.Context, values []json.RawMessage) error {
	return decode(ctx, values, func(i int, r *logRecord) error {
		name := fmt.Sprintf("episode %d: %.60q", i, r.Instruction)
		var first error
		for _, ties := range []search.Ties{search.ByID, search.ByIndex} {
			note, err := v.log(ctx, r, ties)
			if err == nil {
				if ties == search.ByIndex {
					note = strings.TrimPrefix(note+"; products of equal score in the order of the index", "; ")
				}
				v.note(name, note, nil)
				return nil
			}
			if !errors.As(err, new(*MismatchError)) {
				return err
			}
			if first == nil || later(err, first) {
				first = err
			}
		}
		v.add(name, first)
		return nil
	})
}

// later reports whether a differs at a later step than b.
func later(a, b error) bool {
	var x, y *MismatchError
	return errors.As(a, &x) && errors.As(b, &y) && x.Step > y.Step
}

// log replays an episode, with each goal that has its instruction until one agrees. An instruction that
// is not in the data (people wrote more than a small data set holds) is shown all the same; what was
// bought can then not be scored.
func (v *run) log(ctx context.Context, r *logRecord, ties search.Ties) (note string, err error) {
	s, err := v.shop(ctx, shopKey{limit: r.Products, ties: ties})
	if err != nil {
		return "", err
	}
	goals, err := v.goalsLike(ctx, s, r.Instruction)
	if err != nil {
		return "", err
	}
	if len(goals) == 0 {
		copied := *r
		copied.Reward = nil
		return "the goal is not in the data: the reward is not compared", replayLog(s, &catalog.Goal{Instruction: r.Instruction, Human: true}, &copied)
	}
	for _, g := range goals {
		if err = replayLog(s, &g, r); err == nil {
			return "", nil
		}
	}
	return "", err
}

// goalsLike lists the goals with that instruction, whatever price limit was drawn, with the limit that
// it names. Different products can have the same.
func (v *run) goalsLike(ctx context.Context, s *shop.Shop, instruction string) ([]catalog.Goal, error) {
	text, limit := instruction, float64(catalog.NoLimit)
	if m := limitText.FindStringSubmatchIndex(instruction); m != nil {
		var err error
		if limit, err = strconv.ParseFloat(instruction[m[2]:m[3]], 64); err != nil {
			return nil, err
		}
		text = instruction[:m[0]]
	}
	var out []catalog.Goal
	for _, human := range []bool{false, true} {
		w, err := catalog.NewWorld(s.Catalog, catalog.WorldConfig{Variant: catalog.Princeton, Human: human})
		if err != nil {
			continue // a part of the products may have no human goals
		}
		for i := range w.Len() {
			g := w.At(i)
			if limitText.ReplaceAllString(g.Instruction, "") == text {
				g.Instruction, g.PriceUpper = instruction, limit
				out = append(out, g)
			}
		}
	}
	return out, ctx.Err()
}

func replayLog(s *shop.Shop, g *catalog.Goal, r *logRecord) error {
	prices := make([]float64, len(s.Products))
	for i := range prices {
		prices[i] = s.Products[i].Pricing[0] // any price of a range is below the limit of its own goal
	}
	mode, err := shop.ParseMode(r.Mode)
	if err != nil {
		return err
	}
	session := s.NewSession("0", g, prices, nil)
	if r.Transcript != "" {
		return replayTranscript(session, mode, r)
	}
	for i, step := range r.Steps {
		obs, err := session.Observe(mode)
		if err != nil {
			return err
		}
		if err := differText("observation", obs, step.Before); err != nil {
			return at(err, i, "(before) "+step.Action)
		}
		st, err := session.Step(step.Action)
		if err != nil {
			return err
		}
		if step.Done != nil {
			if err := differ("done", st.Done, *step.Done); err != nil {
				return at(err, i+1, step.Action)
			}
		}
	}
	return nil
}

// shorter are the changes that the transcripts' authors made to observations.
var shorter = strings.NewReplacer("[button]", "[", "[button_]", "]")

// replayTranscript prints the whole episode as the record does.
func replayTranscript(session *shop.Session, mode shop.Mode, r *logRecord) error {
	var b strings.Builder
	reward := 0.0
	for i := 0; ; i++ {
		obs, err := session.Observe(mode)
		if err != nil {
			return err
		}
		obs = shorter.Replace(obs)
		if i > 0 {
			b.WriteString("\n\nObservation:\n")
			obs = strings.Replace(obs, "Instruction:\n"+session.Goal().Instruction+"\n", "", 1)
		}
		b.WriteString(obs + "\n\nAction: ")
		if !strings.HasPrefix(r.Transcript, b.String()) {
			return at(differText("transcript", b.String(), r.Transcript[:min(b.Len(), len(r.Transcript))]), i, "(observation)")
		}
		if i == len(r.Actions) {
			break
		}
		st, err := session.Step(r.Actions[i])
		if err != nil {
			return err
		}
		reward = st.Reward
		b.WriteString(r.Actions[i])
	}
	if err := differText("transcript", b.String(), r.Transcript); err != nil {
		return at(err, len(r.Actions), "(end)")
	}
	if r.Reward != nil {
		return at(differ("reward", reward, *r.Reward), len(r.Actions), "(end)")
	}
	return nil
}

package llm

import (
	"fmt"
	"strings"
	"time"
)

// Level says how bad a finding is.
type Level string

// The levels of findings.
const (
	LevelWarn Level = "warn"
	LevelFail Level = "fail"
)

// Finding is one thing that the probe noticed.
type Finding struct {
	Level Level  `json:"level"`
	Text  string `json:"text"`
}

// Verdict says whether one part of the pipeline works with a server, and why.
type Verdict struct {
	Use string `json:"use"`
	OK  bool   `json:"ok"`
	Why string `json:"why"`
}

// Report is what a probe found.
type Report struct {
	Capabilities
	Consistency Difference `json:"consistency"` // sampled against re-scored, temperature 1
	Repeat      Difference `json:"repeat"`      // the same scoring call again
	Stats       Stats      `json:"stats"`       // what the probe's calls cost
	Findings    []Finding  `json:"findings"`
	Verdicts    []Verdict  `json:"verdicts"`
}

func (r *Report) find(level Level, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{level, fmt.Sprintf(format, args...)})
}

// Bounds on differences between two computations of the same log-probability, in nats. Kernels that
// batch differently are up to about 1e-2 apart per token (llama.cpp with an F16 cache: 9e-3); a wrong
// position, another template or a stale cache is off by tenths and more.
const (
	consistentMedian = 0.02
	consistentMax    = 0.5
	repeatMax        = 0.05
)

// Consistent reports whether scores are the sampled tokens' own log-probabilities, as far as measured.
func (r *Report) Consistent() bool {
	return r.Consistency.Tokens > 0 && r.Consistency.Median <= consistentMedian && r.Consistency.Max <= consistentMax
}

// Stale reports whether the same scoring call gave different numbers.
func (r *Report) Stale() bool { return r.Repeat.Max > repeatMax }

// conclude turns measurements into findings and verdicts.
func (r *Report) conclude() {
	if r.Scoring && !r.Consistent() {
		r.find(LevelFail, "re-scoring the sampled tokens differs by %.3g nats (median) and %.3g (maximum): scores do not belong to the sampled distribution",
			r.Consistency.Median, r.Consistency.Max)
	}
	if r.Stale() {
		r.find(LevelFail, "the same scoring call repeated differs by up to %.3g nats: a stale prefix cache; start the scoring server without prefix caching", r.Repeat.Max)
	}
	if r.LogprobMode == ModeProcessed {
		r.find(LevelWarn, "sampled log-probabilities are those after temperature and cut-offs (processed)")
	}
	exact := r.TokenIDs && r.Logprobs
	scores := r.Scoring && r.Consistent() && !r.Stale()
	r.Verdicts = []Verdict{
		{"collect rollouts as text", r.Text, pick(r.Text, "answers messages", "does not answer messages")},
		{"token-exact rollouts for a trainer", exact, pick(exact, "gives ids and log-probabilities of sampled tokens", "gives no token ids or no log-probabilities; text would have to be tokenised anew")},
		{"exact action spans", exact && r.Spelling, pick(r.Spelling, "spells its tokens, so each one's bytes of the response are known", "does not spell its tokens")},
		{"continue a conversation in token space", r.TokenInput, pick(r.TokenInput, "takes token ids", "takes no token ids")},
		{"entropy-weighted credit", r.TopLogprobs > 1, pick(r.TopLogprobs > 1, fmt.Sprintf("entropy is bounded from the top %d", r.TopLogprobs), "gives no alternatives per token")},
		{"hindsight-teacher scoring", scores, r.scoringWhy(scores)},
		{"render teacher contexts on the server", r.Render, pick(r.Render, "renders messages to ids", "does not; a tokenizer and template must be given to the client")},
		{"know each token's policy version", r.TokenVersions || r.VersionLabel != "", r.versionWhy()},
		{"pause for weight updates", r.Pause, pick(r.Pause, "has pause and resume", "has no pause endpoint (vLLM: VLLM_SERVER_DEV_MODE=1)")},
		{"repeat a run by its seeds", r.Seeds, pick(r.Seeds, "the same seed gave the same response", "the same seed gave another response")},
	}
	if !r.Text { // then nothing else was measured, and no other reason is known
		for i := range r.Verdicts[1:] {
			r.Verdicts[i+1].Why = "not measured, because it does not generate"
		}
	}
}

func pick(ok bool, yes, no string) string {
	if ok {
		return yes
	}
	return no
}

func (r *Report) scoringWhy(ok bool) string {
	switch {
	case !r.Scoring:
		return "gives no log-probabilities of given tokens"
	case !ok:
		return "its scores cannot be trusted, see above"
	case r.ForcedScoring:
		return fmt.Sprintf("slow: %d requests for %d tokens", r.CallsPerScore, r.Consistency.Tokens)
	}
	return "one request per text"
}

func (r *Report) versionWhy() string {
	switch {
	case r.TokenVersions:
		return "replies name the weights of each token"
	case r.VersionLabel != "":
		if _, ok := ParseVersion(r.VersionLabel); !ok {
			return fmt.Sprintf("tells the label %q, which is no number; the trainer must set a numbered one", r.VersionLabel)
		}
		return "tells the loaded weights' label, which --track-versions asks for around each call"
	}
	return "does not tell which weights are loaded"
}

// OK reports whether nothing failed. Missing abilities are no failure.
func (r *Report) OK() bool {
	for _, f := range r.Findings {
		if f.Level == LevelFail {
			return false
		}
	}
	return r.Text
}

// String prints the report as a table, then the findings, then what the pipeline can and cannot do.
func (r *Report) String() string {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-22s %s\n", name, fmt.Sprintf(format, args...))
	}
	yes := func(ok bool) string { return pick(ok, "yes", "no") }
	row("engine", "%s", strings.TrimPrefix(r.Engine+" "+or(r.Version, "(version not told)"), pick(strings.HasPrefix(r.Version, r.Engine+" "), r.Engine+" ", "")))
	row("model", "%s", r.Model)
	if r.ContextLength > 0 {
		row("context length", "%d tokens", r.ContextLength)
	}
	row("token ids", "%s", yes(r.TokenIDs))
	row("log-probabilities", "%s, mode %s", yes(r.Logprobs), or(r.LogprobMode, "not known"))
	row("alternatives", "%d per token", r.TopLogprobs)
	row("token input", "%s", yes(r.TokenInput))
	row("scoring", "%s", pick(r.Scoring, fmt.Sprintf("yes, %d request(s)", r.CallsPerScore), "no"))
	row("rendering", "%s", yes(r.Render))
	row("spelling", "%s", yes(r.Spelling))
	row("weight version", "%s", or(r.VersionLabel, "not told"))
	row("pause", "%s", yes(r.Pause))
	if d := r.Consistency; d.Tokens > 0 {
		row("sampled vs re-scored", "median %.2g, max %.2g nats over %d tokens", d.Median, d.Max, d.Tokens)
	}
	if d := r.Repeat; d.Tokens > 0 {
		row("scoring repeated", "median %.2g, max %.2g nats", d.Median, d.Max)
	}
	if s := r.Stats; r.Text && s.Busy > 0 {
		row("latency", "median %s, slowest %s; %.3g tokens/s one call at a time", s.P50.Round(time.Microsecond), s.Max.Round(time.Microsecond), s.TokensPerSecond())
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s: %s\n", f.Level, f.Text)
	}
	for _, ok := range []bool{true, false} {
		fmt.Fprintf(&b, "\n%s\n", pick(ok, "can:", "cannot:"))
		none := true
		for _, v := range r.Verdicts {
			if v.OK == ok {
				fmt.Fprintf(&b, "  %s (%s)\n", v.Use, v.Why)
				none = false
			}
		}
		if none {
			b.WriteString("  (nothing)\n")
		}
	}
	return b.String()
}

package main

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
	"os"
	"strings"

	"github.com/hindsightrl/harness"
)

// htmlToken is a token of the page: its text in a colour that tells its delta, its numbers when pointed at.
type htmlToken struct {
	Text, Title string
	Colour      template.CSS
	Action      bool
}

// htmlStep is a step of the page.
type htmlStep struct {
	Index                        int
	Anchor, Response, Next, Note string
	Tokens                       []htmlToken
	Sum                          string
}

// htmlPage is what the page shows.
type htmlPage struct {
	Episode             int64
	Task, Mode, Teacher string
	Pass                int64
	Outcome, Full       string
	Steps               []htmlStep
}

// fullColour is the delta, in nats, from which a token has its colour in full.
const fullColour = 1.0

// deltaCSS is the background of a token: green where hindsight makes it likelier, red where less likely, as
// strong as the delta is large.
func deltaCSS(delta float32) template.CSS {
	strength := min(math.Sqrt(math.Abs(float64(delta))/fullColour), 1)
	rgb := "30,132,73"
	if delta < 0 {
		rgb = "192,57,43"
	}
	return template.CSS(fmt.Sprintf("background:rgba(%s,%.2f)", rgb, 0.75*strength)) //nolint:gosec // numbers of our own
}

// writeScoreHTML writes an episode under a pass as one page that needs nothing else, with no script in it.
func writeScoreHTML(path string, page htmlPage) error {
	var b bytes.Buffer
	if err := scorePage.Execute(&b, page); err != nil {
		return fmt.Errorf("write page %q: %w", path, err)
	}
	err := writeWhole(path, func(f *os.File) error {
		_, err := f.Write(b.Bytes())
		return err
	})
	if err != nil {
		return fmt.Errorf("write page %q: %w", path, err)
	}
	return nil
}

// htmlOf makes a step of the page from a step and what a teacher made of it.
func htmlOf(st *harness.Step, s *shownStep) htmlStep {
	out := htmlStep{Index: s.Step, Anchor: printable(st.Anchor), Response: printable(st.Response), Next: printable(st.Next.Text)}
	if s.Status != harness.ScoreDone {
		out.Note = "not scored: " + strings.ReplaceAll(string(s.Status), "_", " ")
		return out
	}
	sum := 0.0
	for _, t := range s.Tokens {
		if t.Action {
			sum += float64(t.Delta)
		}
		text := printable(t.Text)
		if text == "" {
			text = "∎" // the end of the response prints nothing
		}
		out.Tokens = append(out.Tokens, htmlToken{
			Text: text, Action: t.Action, Colour: deltaCSS(t.Delta),
			Title: fmt.Sprintf("%s\nstudent %.4f\nteacher %.4f\ndelta %+.4f", printable(fmt.Sprintf("%q", t.Text)), t.Student, t.Teacher, t.Delta),
		})
	}
	out.Sum = fmt.Sprintf("%+.4f", sum)
	return out
}

var scorePage = template.Must(template.New("score").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>episode {{.Episode}} · {{.Mode}}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff }
h1 { font-size: 1.25rem } h2 { font-size: 1rem; margin: 2rem 0 .3rem }
.tokens, .world { font: 14px/1.9 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere }
.world { color: #666; line-height: 1.45 } .world summary { font: 14px system-ui, sans-serif; cursor: pointer }
.tokens span { border-radius: 2px } .tokens .a { border-bottom: 2px solid #222 }
.legend span { padding: 0 .3rem } .note { color: #666 }
</style></head><body>
<h1>Episode {{.Episode}}: what hindsight changes, token by token</h1>
<p>{{.Task}}<br>pass {{.Pass}}, {{.Mode}}, teacher {{.Teacher}}<br>{{.Outcome}}</p>
<p class="legend"><span style="background:rgba(30,132,73,.75)">likelier</span> or <span style="background:rgba(192,57,43,.75)">less likely</span>
with the hindsight context, in full from {{.Full}} nats on; tokens of the action are underlined; point at a token for its numbers.</p>
{{range .Steps}}<h2>Step {{.Index}}</h2>
<details class="world"><summary>what the agent saw</summary>{{.Anchor}}</details>
{{if .Note}}<p class="note">{{.Note}}</p><div class="tokens">{{.Response}}</div>
{{else}}<div class="tokens">{{range .Tokens}}<span{{if .Action}} class="a"{{end}} style="{{.Colour}}" title="{{.Title}}">{{.Text}}</span>{{end}}</div>
<p class="note">sum over the action: {{.Sum}} nats</p>
{{end}}<div class="world">{{.Next}}</div>
{{end}}</body></html>
`))

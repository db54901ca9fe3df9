package browser

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/webshop/internal/py"
	"github.com/hindsightrl/harness/envs/webshop/page"
	"github.com/hindsightrl/harness/envs/webshop/shop"
	"github.com/hindsightrl/harness/internal/pystr"
)

// Env is one episode in a page of its own. It may be Reset after Close.
type Env struct {
	suite *Suite
	tab   *tab // nil while no page is held
	task  harness.Task
	seed  int64 // of the task's world
	goal  int   // index in that world
	told  string
	shots *album

	sheet   *sheet
	address address
	visited []string // products, by id
	taken   []string // actions that the guide may have to take
	guide   guide
	last    harness.Transition // the final answer, once the episode is over
	broken  error              // why no step is possible any more
}

var _ harness.Env = (*Env)(nil)

// errNoEpisode is what a call out of order gives.
var errNoEpisode = errors.New("webshop: no episode is under way: call Reset first")

// Reset starts a task, in a new page if the episode before left none that is whole. It waits while as
// many episodes are open as Config.Pages allows.
func (e *Env) Reset(ctx context.Context, task harness.Task) (harness.Observation, error) {
	if err := ctx.Err(); err != nil {
		return harness.Observation{}, err
	}
	w, seed, index, err := e.suite.shop.Locate(task)
	if err != nil {
		return harness.Observation{}, harness.FailFinal(harness.FailEnv, "reset", err)
	}
	if err := e.hold(ctx); err != nil {
		return harness.Observation{}, failure(ctx, "reset", err)
	}
	e.task, e.seed, e.goal, e.told = task, seed, index, w.At(index).Instruction
	e.last, e.broken, e.visited, e.taken, e.guide = harness.Transition{}, nil, nil, nil, guide{}
	obs, err := e.begin(ctx)
	if err != nil {
		e.release()
		return harness.Observation{}, failure(ctx, "reset", err)
	}
	return obs, nil
}

func (e *Env) begin(ctx context.Context) (harness.Observation, error) {
	var err error
	if e.shots, err = newAlbum(e.suite.cfg.Screenshots, e.task); err != nil {
		return harness.Observation{}, harness.FailFinal(harness.FailHarness, "reset", err)
	}
	start := e.suite.server.base + "/" + session(e.seed, e.goal)
	if err := e.tab.visit(ctx, start); err != nil {
		return harness.Observation{}, err
	}
	return e.look(ctx)
}

// hold makes sure of a page that is whole.
func (e *Env) hold(ctx context.Context) error {
	if e.tab != nil && e.broken == nil && e.tab.ctx.Err() == nil {
		return nil
	}
	e.release()
	if err := e.suite.pool.enter(ctx); err != nil {
		return err
	}
	p, err := e.suite.pool.process(ctx)
	if err == nil {
		e.tab, err = openTab(ctx, p, e.suite.cfg.Timeout)
	}
	if err != nil {
		e.tab = nil
		e.suite.pool.leave()
	}
	return err
}

// release closes the page.
func (e *Env) release() {
	if e.tab != nil {
		e.tab.close()
		e.tab = nil
		e.suite.pool.leave()
	}
}

// look reads the page and takes its picture.
func (e *Env) look(ctx context.Context) (harness.Observation, error) {
	mode := e.suite.shop.Mode()
	s, err := e.tab.read(ctx, mode == shop.HTML)
	if err != nil {
		return harness.Observation{}, err
	}
	if err := s.check(); err != nil {
		return harness.Observation{}, err
	}
	if e.address, err = parseAddress(s.URL); err != nil {
		return harness.Observation{}, err
	}
	e.sheet = s
	if err := e.shots.take(ctx, e.tab); err != nil {
		return harness.Observation{}, err
	}
	return e.observation(mode), nil
}

// observation is the page as a mode shows it. The mode "html" is the markup as Chromium has it; all
// others are equal to the native environment's.
func (e *Env) observation(mode shop.Mode) harness.Observation {
	obs := harness.Observation{Task: e.told, Admissible: e.sheet.admissible()}
	pretended := e.address.pretended(strconv.Itoa(e.goal))
	switch mode {
	case shop.HTML:
		obs.Text = e.sheet.Source
	case shop.URL:
		obs.Text = pretended
	case shop.Rich:
		obs.Text = e.sheet.rich(pretended, e.visited)
	default:
		obs.Text = e.sheet.text()
	}
	return obs
}

// Step applies an action as the native environment does: what is no action or names nothing on the
// page changes nothing and is explained in Privileged, as a purchase is. An episode that is over gives
// its last answer again, with no reward. After an error the episode cannot go on.
func (e *Env) Step(ctx context.Context, action string) (harness.Transition, error) {
	if err := ctx.Err(); err != nil {
		return harness.Transition{}, err
	}
	switch {
	case e.tab == nil:
		return harness.Transition{}, errNoEpisode
	case e.broken != nil:
		return harness.Transition{}, e.broken
	case e.last.Done:
		tr := e.last
		tr.Reward = 0
		return tr, nil
	}
	tr, err := e.step(ctx, strings.ToValidUTF8(action, "\uFFFD"))
	if err != nil {
		err = failure(ctx, "step", fmt.Errorf("step %.200q in %s: %w", action, e.task.Key(), err))
		e.broken = err
		if ctx.Err() != nil { // the page may have turned or not
			e.broken = harness.Fail(harness.FailEnv, "step", fmt.Errorf("a step in %s was cut off: %w", e.task.Key(), err))
		}
		return harness.Transition{}, err
	}
	if tr.Privileged == "" || tr.Done { // the others changed nothing
		e.taken = append(e.taken, action)
	}
	if tr.Done {
		e.last = tr
	}
	return tr, nil
}

func (e *Env) step(ctx context.Context, action string) (harness.Transition, error) {
	reason, err := e.act(ctx, action)
	if err != nil {
		return harness.Transition{}, err
	}
	if reason != "" {
		if e.tab.ctx.Err() != nil { // nothing was asked of the browser
			return harness.Transition{}, context.Cause(e.tab.ctx)
		}
		err := e.shots.take(ctx, e.tab)
		return harness.Transition{Observation: e.observation(e.suite.shop.Mode()), Privileged: reason}, err
	}
	obs, err := e.look(ctx)
	if err != nil {
		return harness.Transition{}, err
	}
	tr := harness.Transition{}
	if e.address.kind == "done" {
		if tr, err = e.judge(); err != nil {
			return harness.Transition{}, err
		}
	}
	tr.Observation = obs
	return tr, nil
}

// act does what an action asks for. The reason says why nothing was done, in the native environment's
// words.
func (e *Env) act(ctx context.Context, action string) (reason string, err error) {
	name, arg, hasArg := shop.ParseAction(action)
	if !hasArg {
		return "no action: want search[words] or click[name]", nil
	}
	arg = pystr.Lower(arg)
	switch name {
	case "search":
		return e.search(ctx, arg)
	case "click":
		return e.click(ctx, arg)
	}
	return fmt.Sprintf("no action %q: there are search and click", name), nil
}

func (e *Env) click(ctx context.Context, name string) (reason string, err error) {
	i := e.sheet.find(name)
	switch {
	case i < 0:
		return fmt.Sprintf("nothing on this page is called %q", name), nil
	case name == "search":
		return "the search button does nothing: use search[words]", nil
	}
	c := e.sheet.Clickables[i]
	if err := e.tab.act(ctx, "click", i, c.Name); err != nil {
		return "", err
	}
	switch {
	case c.Kind == "link":
		e.visited = append(e.visited, c.Name)
	case c.Name == page.BackToSearch:
		e.visited = nil
	}
	return "", nil
}

// longestAddress bounds what a search may add to addresses, in bytes: each link of a page repeats it.
const longestAddress = 64 << 10

func (e *Env) search(ctx context.Context, query string) (reason string, err error) {
	words := strings.Split(query, " ")
	if reason := e.refused(words); reason != "" {
		return reason, nil
	}
	part := page.PathEscape(strings.ReplaceAll(py.Repr(py.Strings(words)), "/", `\x2f`))
	if len(part) > longestAddress {
		return fmt.Sprintf("a search of %d bytes does not fit into an address", len(query)), nil
	}
	if strings.ContainsAny(query, "\r\x00") {
		// A form would change these: go where it leads.
		session := session(e.seed, e.goal)
		return "", e.tab.visit(ctx, e.suite.server.base+"/search_results/"+session+"/"+part+"/1")
	}
	return "", e.tab.act(ctx, "search", 0, query)
}

// randomReturns is how many products a random search wants.
const randomReturns = 50

// refused says why the shop takes no such search, as the native environment does.
func (e *Env) refused(words []string) string {
	s := e.suite.shop.Shop()
	if words[0] == "<r>" && len(s.Products) >= randomReturns {
		return ""
	}
	_, reason := s.Special(words, nil)
	return reason
}

// judge is the end of the episode. The page's reward and that of the shop's rules must be the same.
func (e *Env) judge() (harness.Transition, error) {
	shown, err := e.sheet.score()
	if err != nil {
		return harness.Transition{}, err
	}
	tr, err := e.suite.shop.Judge(e.task, e.address.asin, e.address.options)
	if err == nil && tr.Score != shown {
		err = harness.FailFinal(harness.FailHarness, "step", fmt.Errorf("the page shows a reward of %v, the rules give %v", shown, tr.Score))
	}
	return tr, err
}

// Close closes the page.
func (e *Env) Close() error {
	e.release()
	*e = Env{suite: e.suite}
	return nil
}

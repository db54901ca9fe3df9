package teacher

import (
	"cmp"
	"slices"

	"github.com/hindsightrl/harness/internal/difflib"
)

// record is a row with what contexts ask of it, computed once.
type record struct {
	row  *Row
	idx  int // batch order
	step int

	prompt, feedback, next, privileged string // without the space around them
	ret                                float64
	success                            bool
	response, action                   string // see responseOf and actionOf
	hasResponse, hasAction             bool   // they were asked for

	trajectory *trajectory
	later      int // index in trajectory.rows of the first row of a later step
	anchor     *anchorGroup
}

// trajectory is the rows of an episode by (step, batch order).
type trajectory struct {
	id      string
	first   int // least batch index
	rows    []*record
	success bool        // any row is one
	group   string      // task group of the first row
	shows   *trajectory // what successFor gives rows of that group
	asked   bool        // shows is known

	joined string  // every row's text in the configured format, with separators
	starts []int   // where each begins in joined; nil until asked for
	ends   []int   // where each ends
	demo   *string // the text of the whole trajectory as a demonstration; nil until asked for
}

// index holds the records of a batch, grouped.
type index struct {
	cfg     Config
	mode    sources
	words   *wording
	records []record
	groups  map[string][]*trajectory // by task group, in order of first appearance
}

func newIndex(rows []Row, cfg Config, words *wording) *index {
	x := &index{cfg: cfg, mode: modeTable[cfg.Mode], words: words, records: make([]record, len(rows)), groups: make(map[string][]*trajectory)}
	byID := make(map[string]*trajectory)
	var (
		order []*trajectory
		t     *trajectory
	)
	for i := range rows {
		r := &x.records[i]
		x.fill(r, &rows[i], i)
		if t == nil || t.id != rows[i].Episode { // rows of an episode mostly come together
			t = byID[rows[i].Episode]
		}
		if t == nil {
			t = &trajectory{id: rows[i].Episode, first: i}
			byID[t.id] = t
			order = append(order, t)
		}
		r.trajectory = t
		t.rows = append(t.rows, r)
	}
	for _, t := range order { // in order of first appearance
		t.sort()
		t.group = t.rows[0].row.Group
		x.groups[t.group] = append(x.groups[t.group], t)
	}
	if x.mode.anchor {
		x.groupAnchors()
	}
	return x
}

func (x *index) fill(r *record, row *Row, i int) {
	r.row, r.idx, r.step, r.prompt, r.ret = row, i, row.Step, promptText(row.Prompt), row.Reward
	// Only what the mode shows is looked at: texts lie scattered in memory, and looking is what costs.
	if x.mode.feedback || x.mode.judge { // what a judge is asked shows the last answers
		r.feedback = strip(row.Feedback)
	}
	if x.mode.next || x.mode.judge {
		r.next = strip(row.Next)
	}
	if x.mode.privileged {
		r.privileged = strip(row.Privileged)
	}
	if row.Return != nil {
		r.ret = *row.Return
	}
	if row.Success != nil {
		r.success = *row.Success
	} else {
		r.success = r.ret >= x.cfg.SuccessThreshold
	}
}

// responseOf is a row's response as contexts show it.
func (x *index) responseOf(r *record) string {
	if !r.hasResponse {
		response := r.row.Response
		if x.cfg.StripThinking {
			response = stripThinking(response)
		}
		r.response, r.hasResponse = strip(response), true
	}
	return r.response
}

// actionOf is the action that a row stands for among the candidates of its anchor group.
func (x *index) actionOf(r *record) string {
	if !r.hasAction {
		r.action, r.hasAction = cmp.Or(candidateAction(x.responseOf(r)), x.words.emptyAction), true
	}
	return r.action
}

func (t *trajectory) sort() {
	byStep := func(a, b *record) int { return cmp.Compare(a.step, b.step) }
	if !slices.IsSortedFunc(t.rows, byStep) {
		slices.SortStableFunc(t.rows, byStep) // rows came in batch order
	}
	later := len(t.rows)
	for i := len(t.rows) - 1; i >= 0; i-- {
		if i+1 < len(t.rows) && t.rows[i+1].step > t.rows[i].step {
			later = i + 1
		}
		t.rows[i].later = later
		t.success = t.success || t.rows[i].success
	}
}

// successFor is the successful trajectory that a row's teacher sees: the first of the task group, in
// order of first appearance; nil where there is none.
func (x *index) successFor(r *record) *trajectory {
	own := r.trajectory
	if own.asked && own.group == r.row.Group {
		return own.shows
	}
	var found *trajectory
	for _, t := range x.groups[r.row.Group] {
		if t.success && (!x.cfg.ExcludeOwn || t != own) {
			found = t
			break
		}
	}
	if own.group == r.row.Group {
		own.shows, own.asked = found, true
	}
	return found
}

// anchorGroup is the rows of a task group that share an anchor observation, by (step, batch order).
type anchorGroup struct {
	rows       []*record
	candidates []*candidate // in order of first appearance; nil until asked for
	texts      [2]*string   // the candidates' text without and with feedback; nil until asked for
	lines      *string      // the feedback lines
}

func (r *record) anchorText() string {
	if r.row.Anchor != nil {
		return *r.row.Anchor
	}
	return r.prompt
}

// groupAnchors forms the anchor groups. Equal anchors meet by their text; with similarity, a row joins the
// first group whose first row's anchor is similar to its own.
func (x *index) groupAnchors() {
	byGroup := make(map[string][]*record)
	var order []string
	for i := range x.records {
		r := &x.records[i]
		if byGroup[r.row.Group] == nil {
			order = append(order, r.row.Group)
		}
		byGroup[r.row.Group] = append(byGroup[r.row.Group], r)
	}
	for _, name := range order {
		rows := byGroup[name]
		slices.SortStableFunc(rows, func(a, b *record) int { return cmp.Compare(a.step, b.step) })
		find := equalAnchors()
		if x.cfg.Similarity {
			find = similarAnchors(x.cfg.SimilarityThreshold)
		}
		for _, r := range rows {
			r.anchor = find(r.anchorText())
			r.anchor.rows = append(r.anchor.rows, r)
		}
	}
}

func equalAnchors() func(string) *anchorGroup {
	known := make(map[string]*anchorGroup)
	return func(text string) *anchorGroup {
		g := known[text]
		if g == nil {
			g = new(anchorGroup)
			known[text] = g
		}
		return g
	}
}

// similarAnchors compares each new text with every group's first, as the original does. A text that was
// met before finds its group at once: groups are only ever added at the end, so the first similar one stays
// the first. An anchor of space alone is similar to nothing, not even to itself.
func similarAnchors(threshold float64) func(string) *anchorGroup {
	type cluster struct {
		group   *anchorGroup
		matcher *difflib.Matcher // nil: similar to nothing
	}
	var clusters []cluster
	known := make(map[string]*anchorGroup)
	return func(text string) *anchorGroup {
		text = strip(text)
		if text == "" {
			return new(anchorGroup)
		}
		if g := known[text]; g != nil {
			return g
		}
		for _, c := range clusters {
			if c.matcher.Similar(text, threshold) {
				known[text] = c.group
				return c.group
			}
		}
		g := new(anchorGroup)
		clusters = append(clusters, cluster{g, difflib.NewMatcher(text)})
		known[text] = g
		return g
	}
}

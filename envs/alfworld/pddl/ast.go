package pddl

// Typed is a name with its declared type: an object, a parameter or a quantified variable.
type Typed struct {
	Name string // variables keep their '?'
	Type string // "object" where none is written
}

// Kind says what a Formula is.
type Kind uint8

// The kinds of formula. True is the empty condition.
const (
	True Kind = iota
	Atom
	Equal
	Not
	And
	Or
	Exists
)

// Formula is a condition. Atom uses Pred and Args; Equal uses Args (two terms); Not, And and Or use
// Kids; Exists uses Vars and its one kid.
type Formula struct {
	Kind Kind
	Line int
	Pred string
	Args []string // terms: a variable starts with '?', anything else is an object
	Kids []*Formula
	Vars []Typed
}

// Effect is one simple effect. When is nil for an unconditional effect.
type Effect struct {
	When *Formula
	Del  bool
	Pred string
	Args []string
	Line int
}

// Action is one action schema.
type Action struct {
	Name    string
	RawName string // as written
	Line    int
	Params  []Typed
	Pre     *Formula
	Effects []Effect
}

// Predicate is a declared predicate with its spelling in the text.
type Predicate struct {
	Name string
	Raw  string
}

// Domain is a parsed domain.
type Domain struct {
	Name       string
	Types      []Typed // in order of declaration: a type and its parent
	Constants  []Typed
	Predicates []Predicate
	Actions    []Action
}

// Fact is a ground atom.
type Fact struct {
	Pred string
	Args []string
	Line int
}

// Problem is a parsed problem. Numeric facts are dropped: nothing reads costs.
type Problem struct {
	Name    string
	Domain  string
	Objects []Typed
	Init    []Fact
	Goal    *Formula
}

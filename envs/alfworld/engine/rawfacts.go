package engine

// atom is a ground atom; unused arguments are 0.
type atom struct {
	pred uint16
	args [maxArity]uint16
}

// rawFact is a fact known to the grounder. A fact takes part in joins once it is visible; next chains
// the visible facts that share an argument at one position.
type rawFact struct {
	atom
	next    [maxArity]int32
	initial bool
	reached bool
	visible bool
}

// factIndex finds raw facts by atom. Atoms of up to three arguments, which are nearly all, are found by
// one packed number.
type factIndex struct {
	packed map[uint64]int32
	wide   map[atom]int32
}

func (x *factIndex) get(a *atom, arity int) (int32, bool) {
	if arity > 3 {
		f, ok := x.wide[*a]
		return f, ok
	}
	f, ok := x.packed[a.pack()]
	return f, ok
}

func (x *factIndex) put(a *atom, arity int, f int32) {
	if arity > 3 {
		x.wide[*a] = f
		return
	}
	x.packed[a.pack()] = f
}

func (a *atom) pack() uint64 {
	return uint64(a.pred)<<48 | uint64(a.args[0])<<32 | uint64(a.args[1])<<16 | uint64(a.args[2])
}

package credit

// buckets lists the rows of each of n dense ids: rows[start[k]:start[k+1]] are those of id k, in
// batch order. Two slices hold all of it, whatever the number of ids.
type buckets struct {
	start []int
	rows  []int
}

func (b buckets) len() int        { return len(b.start) - 1 }
func (b buckets) of(k int) []int  { return b.rows[b.start[k]:b.start[k+1]] }
func (b buckets) size(k int) int  { return b.start[k+1] - b.start[k] }
func (b buckets) first(k int) int { return b.rows[b.start[k]] }

// bucketize sorts rows by dense id in linear time, keeping batch order within an id.
func bucketize(ids []int, n int) buckets {
	b := buckets{start: make([]int, n+1), rows: make([]int, len(ids))}
	for _, k := range ids {
		b.start[k+1]++
	}
	for k := range n {
		b.start[k+1] += b.start[k]
	}
	next := make([]int, n)
	copy(next, b.start)
	for i, k := range ids {
		b.rows[next[k]] = i
		next[k]++
	}
	return b
}

// dense renumbers ids 0, 1, … in order of first appearance and returns how many there are. Ids that
// already lie close together go through a table, which costs one allocation; others through a map.
func dense(ids []int) ([]int, int) {
	out := make([]int, len(ids))
	if len(ids) == 0 {
		return out, 0
	}
	lo, hi := ids[0], ids[0]
	for _, id := range ids {
		lo, hi = min(lo, id), max(hi, id)
	}
	if span := hi - lo; span >= 0 && span < 4*len(ids)+64 {
		return out, denseTable(out, ids, lo, span+1)
	}
	seen := make(map[int]int, len(ids)/4)
	for i, id := range ids {
		k, ok := seen[id]
		if !ok {
			k = len(seen)
			seen[id] = k
		}
		out[i] = k
	}
	return out, len(seen)
}

func denseTable(out, ids []int, lo, span int) int {
	table, n := make([]int, span), 0
	for i, id := range ids {
		if table[id-lo] == 0 {
			n++
			table[id-lo] = n
		}
		out[i] = table[id-lo] - 1
	}
	return n
}

// IDs numbers keys 0, 1, … in order of first appearance: it turns the names of groups, trajectories
// or observations into the integers that a Batch holds.
func IDs[K comparable](keys []K) []int {
	out, seen := make([]int, len(keys)), make(map[K]int)
	for i, key := range keys {
		k, ok := seen[key]
		if !ok {
			k = len(seen)
			seen[key] = k
		}
		out[i] = k
	}
	return out
}

// interner numbers pairs of integers in order of first appearance.
type interner map[[2]int]int

func (t interner) id(a, b int) int {
	k, ok := t[[2]int{a, b}]
	if !ok {
		k = len(t)
		t[[2]int{a, b}] = k
	}
	return k
}

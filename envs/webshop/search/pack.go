package search

import (
	"fmt"
	"sync"

	"github.com/hindsightrl/harness/envs/webshop/internal/packed"
)

// Format is the version of what Pack writes, and of the rules that give documents their terms and
// weights: an index of another version must be built anew.
const Format = 3

// Pack writes the index.
func (x *Index) Pack(w *packed.Writer) {
	lengths := make([]uint16, x.terms.words)
	for _, e := range x.terms.slots {
		if e.number != 0 {
			lengths[e.number-1] = e.length
		}
	}
	packed.Write(w, []uint64{uint64(x.docs), uint64(x.shift)})
	packed.Write(w, lengths)
	packed.Write(w, x.terms.text) // in the order of their numbers
	packed.Write(w, x.starts)
	packed.Write(w, x.postings)
	packed.Write(w, x.norms)
	packed.Write(w, x.byID)
	packed.Write(w, x.most)
	packed.Write(w, x.cache[:])
	places, counts := make([]uint64, 0, len(x.big)), make([]uint32, 0, len(x.big))
	for place, count := range x.big {
		places, counts = append(places, place), append(counts, count)
	}
	packed.Write(w, places)
	packed.Write(w, counts)
}

// Unpack reads an index that Pack wrote. Its sizes are checked here, its values by the checksum when the
// reader is closed: until then it must not be used.
func Unpack(r *packed.Reader) (*Index, error) {
	x := &Index{big: map[uint64]uint32{}, pool: sync.Pool{New: func() any { return &scratch{} }}}
	sizes := packed.Read[uint64](r)
	lengths, text := packed.Read[uint16](r), packed.Read[byte](r)
	x.starts, x.postings = packed.Read[uint32](r), packed.Read[uint32](r)
	x.norms, x.byID, x.most = packed.Read[byte](r), packed.Read[int32](r), packed.Read[float32](r)
	cache := packed.Read[float32](r)
	places, counts := packed.Read[uint64](r), packed.Read[uint32](r)
	if err := r.Err(); err != nil {
		return nil, err
	}
	if len(sizes) != 2 || len(x.norms) != int(sizes[0]) || len(x.byID) != len(x.norms) || len(x.most) != len(lengths) ||
		len(x.starts) != len(lengths)+1 || copy(x.cache[:], cache) != len(x.cache) || len(places) != len(counts) {
		return nil, fmt.Errorf("%w: the columns of the index do not fit together", packed.ErrDamaged)
	}
	x.docs, x.shift = int(sizes[0]), uint(sizes[1])
	for i, place := range places {
		x.big[place] = counts[i]
	}
	words := string(text)
	for i, n := range lengths {
		if int(n) > len(words) {
			return nil, fmt.Errorf("%w: the terms of the index are cut off", packed.ErrDamaged)
		}
		x.terms.add(words[:n], uint32(i))
		words = words[n:]
	}
	return x, nil
}

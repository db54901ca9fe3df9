package catalog

import "hash/maphash"

// ids finds products by their ids. It holds no pointers: the garbage collector need not look into it.
type ids struct {
	seed  maphash.Seed
	slots []int32 // index plus one; 0 is free. A power of two of them, at least half of them free
	known int
}

// find returns the index of the product with an id, or the slot that would take it and false.
func (t *ids) find(products []Product, asin string) (index, slot int, ok bool) {
	if len(t.slots) == 0 {
		return 0, 0, false
	}
	mask := len(t.slots) - 1
	for slot = int(maphash.String(t.seed, asin)) & mask; t.slots[slot] != 0; slot = (slot + 1) & mask {
		if i := int(t.slots[slot] - 1); products[i].ASIN == asin {
			return i, slot, true
		}
	}
	return 0, slot, false
}

// add takes the last of the products; false means that its id is known.
func (t *ids) add(products []Product) bool {
	if 2*(t.known+1) > len(t.slots) {
		t.grow(products)
	}
	last := len(products) - 1
	_, slot, known := t.find(products[:last], products[last].ASIN)
	if !known {
		t.slots[slot] = int32(last + 1)
		t.known++
	}
	return !known
}

// grow doubles the slots.
func (t *ids) grow(products []Product) {
	old := t.slots
	if old == nil {
		t.seed = maphash.MakeSeed()
	}
	t.slots = make([]int32, max(2*len(old), 1<<10))
	for _, i := range old {
		if i != 0 {
			_, slot, _ := t.find(products, products[i-1].ASIN)
			t.slots[slot] = i
		}
	}
}

package teacher

import "strings"

// frame is a template of text placeholders only, taken apart for fast filling: contexts are written by
// the hundred thousand.
type frame []framePart

// framePart is literal text, and then the value of a slot unless slot is negative.
type framePart struct {
	literal string
	slot    int
}

// frameOf takes a template apart. known values become part of the literals; the others get their
// slot's number from the order of slots.
func (w *wording) frameOf(key string, known map[string]string, slots ...string) frame {
	t := w.t.byKey[key]
	literals, fields := t.Literals(), t.Fields()
	var out frame
	pending := literals[0]
	for i, f := range fields {
		if v, ok := known[f.Name]; ok {
			pending += v + literals[i+1]
			continue
		}
		for slot, name := range slots {
			if name == f.Name {
				out = append(out, framePart{pending, slot})
			}
		}
		pending = literals[i+1]
	}
	return append(out, framePart{pending, -1})
}

func (f frame) size(values ...string) int {
	n := 0
	for _, p := range f {
		n += len(p.literal)
		if p.slot >= 0 {
			n += len(values[p.slot])
		}
	}
	return n
}

func (f frame) write(b *strings.Builder, values ...string) {
	for _, p := range f {
		b.WriteString(p.literal)
		if p.slot >= 0 {
			b.WriteString(values[p.slot])
		}
	}
}

package llm

import "errors"

// skip validates and passes over one value. Most of a reply is skipped (the prompt's own positions),
// so containers are walked here in one loop instead of through object and array.
func (r *jsonReader) skip() {
	var inObject [maxJSONDepth + 1]bool // by depth: what the value stands in
	base := r.depth
	for r.err == nil {
		switch c := r.peek(); c {
		case '{', '[':
			r.p++
			if !r.enter() {
				return
			}
			inObject[r.depth] = c == '{'
			if r.peek() == c+2 { // '}' is '{'+2, ']' is '['+2
				r.p++
				r.depth--
				break
			}
			r.skipKey(c == '{')
			continue
		case '"':
			r.str()
		case 't', 'f', 'n':
			if !r.literal("true") && !r.literal("false") && !r.literal("null") {
				r.fail(errors.New("unknown word"))
			}
		default:
			if r.p >= len(r.b) {
				r.fail(errors.New("the reply ends where a value is due"))
				return
			}
			r.number()
		}
		for r.depth > base && r.err == nil { // after a value
			if r.peek() == ',' {
				r.p++
				r.skipKey(inObject[r.depth])
				break
			}
			if inObject[r.depth] {
				r.want('}')
			} else {
				r.want(']')
			}
			r.depth--
		}
		if r.depth == base {
			return
		}
	}
}

// pass goes over one value without validating what is inside: it only finds the value's end. It is
// for the bulk of a scored prompt, whose values nobody looks at; that the reply is whole still shows.
func (r *jsonReader) pass() {
	if c := r.peek(); c != '{' && c != '[' {
		r.skip()
		return
	}
	b, depth := r.b, 0
	for p := r.p; p < len(b); p++ {
		switch b[p] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				r.p = p + 1
				return
			}
		case '"':
			for p++; p < len(b) && b[p] != '"'; p++ {
				if b[p] == '\\' {
					p++
				}
			}
		}
	}
	r.p = len(b)
	r.fail(errors.New("the reply ends in the middle of a value"))
}

func (r *jsonReader) skipKey(object bool) {
	if object {
		r.str()
		r.want(':')
	}
}

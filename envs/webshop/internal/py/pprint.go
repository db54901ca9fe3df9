package py

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// width is pprint's default line width, in characters.
const width = 80

// Pretty is pprint.pformat(v) with its defaults: what fits stands on one line, dict keys are sorted,
// long strings are split between words.
//
// Source: the behaviour of python@3.10 Lib/pprint.py.
func Pretty(v any) string {
	var p printer
	p.format(v, 0, 0)
	return p.String()
}

type printer struct{ strings.Builder }

// format writes v at column indent; allowance is the number of characters that follow its last line.
func (p *printer) format(v any, indent, allowance int) {
	flat := flatRepr(v)
	if utf8.RuneCountInString(flat) <= width-indent-allowance {
		p.WriteString(flat)
		return
	}
	switch v := v.(type) {
	case Dict:
		p.dict(v, indent, allowance)
	case []any:
		p.WriteByte('[')
		p.items(v, indent, allowance+1)
		p.WriteByte(']')
	case Tuple:
		end := ")"
		if len(v) == 1 {
			end = ",)"
		}
		p.WriteByte('(')
		p.items(v, indent, allowance+len(end))
		p.WriteString(end)
	case string:
		p.text(v, indent, allowance)
	default:
		p.WriteString(flat)
	}
}

// flatRepr is repr with sorted keys, as pprint tries first.
func flatRepr(v any) string { return Repr(sortedDeep(v)) }

func sortedDeep(v any) any {
	switch v := v.(type) {
	case Dict:
		out := inOrder(v, true)
		for i := range out {
			out[i].Value = sortedDeep(out[i].Value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = sortedDeep(v[i])
		}
		return out
	case Tuple:
		out := make(Tuple, len(v))
		for i := range v {
			out[i] = sortedDeep(v[i])
		}
		return out
	}
	return v
}

func (p *printer) dict(d Dict, indent, allowance int) {
	p.WriteByte('{')
	indent++
	allowance++
	sorted := inOrder(d, true)
	for i, it := range sorted {
		if i > 0 {
			p.WriteString(",\n" + strings.Repeat(" ", indent))
		}
		key := Quote(it.Key)
		p.WriteString(key + ": ")
		left := 1
		if i == len(sorted)-1 {
			left = allowance
		}
		p.format(it.Value, indent+utf8.RuneCountInString(key)+2, left)
	}
	p.WriteByte('}')
}

func (p *printer) items(list []any, indent, allowance int) {
	indent++
	for i, x := range list {
		if i > 0 {
			p.WriteString(",\n" + strings.Repeat(" ", indent))
		}
		left := 1
		if i == len(list)-1 {
			left = allowance
		}
		p.format(x, indent, left)
	}
}

// text splits a long string between words, each piece quoted, one a line.
func (p *printer) text(s string, indent, allowance int) {
	if s == "" {
		p.WriteString(Quote(s))
		return
	}
	var chunks []string
	lines := splitLines(s)
	// Python has a level counter; a string at the top level gets parentheses.
	top := p.Len() == 0
	if top {
		indent++
		allowance++
	}
	rep := ""
	for i, line := range lines {
		reserve := 0 // characters that must stay free behind the last line
		if i == len(lines)-1 {
			reserve = allowance
		}
		if rep = Quote(line); utf8.RuneCountInString(rep) <= width-indent-reserve {
			chunks = append(chunks, rep)
		} else {
			chunks = append(chunks, splitWords(line, width-indent, reserve)...)
		}
	}
	if len(chunks) == 1 {
		p.WriteString(rep)
		return
	}
	if top {
		p.WriteByte('(')
	}
	for i, c := range chunks {
		if i > 0 {
			p.WriteString("\n" + strings.Repeat(" ", indent))
		}
		p.WriteString(c)
	}
	if top {
		p.WriteByte(')')
	}
}

// splitWords fills lines of at most limit characters with the words of a line; the last word leaves
// room for reserve more.
func splitWords(line string, limit, reserve int) []string {
	parts := wordRuns(line)
	var out []string
	current := ""
	for j, part := range parts {
		if j == len(parts)-1 {
			limit -= reserve
		}
		candidate := current + part
		if utf8.RuneCountInString(Quote(candidate)) <= limit {
			current = candidate
			continue
		}
		if current != "" {
			out = append(out, Quote(current))
		}
		current = part
	}
	if current != "" {
		out = append(out, Quote(current))
	}
	return out
}

// wordRuns is re.findall(r'\S*\s*', line) without the empty last match: words with the space behind.
func wordRuns(line string) []string {
	var out []string
	start, space := 0, false
	for i, r := range line {
		isSpace := unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
		if space && !isSpace {
			out = append(out, line[start:i])
			start = i
		}
		space = isSpace
	}
	if start < len(line) {
		out = append(out, line[start:])
	}
	return out
}

// splitLines is str.splitlines(True).
func splitLines(s string) []string {
	var out []string
	start := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch r {
		case '\r':
			if i < len(s) && s[i] == '\n' {
				i++
			}
		case '\n', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		default:
			continue
		}
		out = append(out, s[start:i])
		start = i
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

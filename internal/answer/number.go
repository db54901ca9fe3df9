package answer

import (
	"errors"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// number is a value: exact as a fraction where Rat is set, else an approximation. F is always set.
type number struct {
	rat     *big.Rat
	f       float64
	decimal bool // written with a decimal point, or with a root or π: perhaps rounded
}

// Bounds on exact arithmetic: beyond them numbers are approximations, so that no answer costs time.
const (
	maxDigits   = 400
	maxBits     = 4096
	maxExponent = 512
	maxDepth    = 50
)

var errNoNumber = errors.New("no number")

func exact(r *big.Rat, decimal bool) (number, error) {
	f, _ := r.Float64()
	n := number{rat: r, f: f, decimal: decimal}
	if r.Num().BitLen() > maxBits || r.Denom().BitLen() > maxBits {
		n.rat = nil
	}
	return n, n.check()
}

func (n number) check() error {
	if math.IsNaN(n.f) || math.IsInf(n.f, 0) {
		return errNoNumber
	}
	return nil
}

// expression is an arithmetic expression as it is read, in LaTeX or plain notation:
//
//	sum     = product {("+" | "-") product}
//	product = factor {["*" | "/"] factor}      what stands side by side is multiplied, digits excepted
//	factor  = ("-" | "+") factor | atom ["^" atom]
//	atom    = digits | "(" sum ")" | "{" sum "}" | \frac{sum}{sum} | \sqrt[sum]{sum} | \pi
type expression struct {
	s     string
	at    int
	depth int
}

// evaluate reads the whole of s as a number.
func evaluate(s string) (number, error) {
	if len(s) == 0 || len(s) > maxLength {
		return number{}, errNoNumber
	}
	e := expression{s: s}
	n, err := e.sum()
	if err == nil && e.peek() != 0 {
		err = errNoNumber
	}
	return n, err
}

// peek is the next character that is no space; 0 at the end.
func (e *expression) peek() byte {
	for e.at < len(e.s) && (e.s[e.at] == ' ' || e.s[e.at] == '\t') {
		e.at++
	}
	if e.at == len(e.s) {
		return 0
	}
	return e.s[e.at]
}

func (e *expression) take(prefix string) bool {
	e.peek()
	if !strings.HasPrefix(e.s[e.at:], prefix) {
		return false
	}
	e.at += len(prefix)
	return true
}

func (e *expression) sum() (number, error) {
	if e.depth++; e.depth > maxDepth {
		return number{}, errNoNumber
	}
	defer func() { e.depth-- }()
	n, err := e.product()
	for err == nil {
		op := e.peek()
		if op != '+' && op != '-' {
			return n, nil
		}
		e.at++
		var m number
		if m, err = e.product(); err == nil {
			n, err = combine(n, m, op)
		}
	}
	return n, err
}

func (e *expression) product() (number, error) {
	n, err := e.factor()
	for err == nil {
		op := e.peek()
		switch {
		case op == '*' || op == '/':
			e.at++
		case op == '(' || op == '{' || op == '\\' || strings.HasPrefix(e.s[e.at:], "sqrt") || strings.HasPrefix(e.s[e.at:], "pi"):
			op = '*'
		default:
			return n, nil
		}
		var m number
		if m, err = e.factor(); err == nil {
			n, err = combine(n, m, op)
		}
	}
	return n, err
}

func (e *expression) factor() (number, error) {
	if e.depth++; e.depth > maxDepth {
		return number{}, errNoNumber
	}
	defer func() { e.depth-- }()
	switch e.peek() {
	case '-':
		e.at++
		n, err := e.factor()
		if err != nil {
			return n, err
		}
		n.f = -n.f
		if n.rat != nil {
			n.rat = new(big.Rat).Neg(n.rat)
		}
		return n, nil
	case '+':
		e.at++
		return e.factor()
	}
	n, err := e.atom()
	if err != nil {
		return n, err
	}
	if e.peek() != '^' {
		return n, nil
	}
	e.at++
	m, err := e.exponent()
	if err != nil {
		return m, err
	}
	return power(n, m)
}

// exponent is an atom, or a signed one: 2^-3.
func (e *expression) exponent() (number, error) {
	if e.take("-") {
		m, err := e.atom()
		m.f = -m.f
		if m.rat != nil {
			m.rat = new(big.Rat).Neg(m.rat)
		}
		return m, err
	}
	return e.atom()
}

func (e *expression) atom() (number, error) {
	switch c := e.peek(); {
	case c >= '0' && c <= '9' || c == '.':
		return e.literal()
	case c == '(':
		return e.group('(', ')')
	case c == '{':
		return e.group('{', '}')
	case e.take(`\frac`):
		n, err := e.group('{', '}')
		if err != nil {
			return n, err
		}
		m, err := e.group('{', '}')
		if err != nil {
			return m, err
		}
		return combine(n, m, '/')
	case e.take(`\sqrt`), e.take("sqrt"):
		return e.root()
	case e.take(`\pi`), e.take("pi"):
		return number{f: math.Pi, decimal: true}, nil
	}
	return number{}, errNoNumber
}

func (e *expression) group(open, end byte) (number, error) {
	if e.peek() != open {
		return number{}, errNoNumber
	}
	e.at++
	n, err := e.sum()
	if err != nil {
		return n, err
	}
	if e.peek() != end {
		return n, errNoNumber
	}
	e.at++
	return n, nil
}

// root is the n-th root; exact where it is a whole number's or a fraction's.
func (e *expression) root() (number, error) {
	degree := number{rat: big.NewRat(2, 1), f: 2}
	if e.peek() == '[' {
		var err error
		if degree, err = e.group('[', ']'); err != nil {
			return degree, err
		}
	}
	n, err := e.atom()
	if err != nil {
		return n, err
	}
	if degree.f == 0 || n.f < 0 && degree.f != 3 {
		return n, errNoNumber
	}
	out := number{f: math.Pow(n.f, 1/degree.f), decimal: true}
	switch degree.f {
	case 2:
		out.f = math.Sqrt(n.f)
		if r := exactRoot(n.rat); r != nil {
			return exact(r, n.decimal)
		}
	case 3:
		out.f = math.Cbrt(n.f)
	}
	if r := math.Round(out.f); n.rat != nil && n.rat.IsInt() && math.Abs(r) < 1e6 && degree.rat != nil && degree.rat.IsInt() {
		if p, err := power(number{rat: new(big.Rat).SetInt64(int64(r)), f: r}, degree); err == nil && p.rat != nil && p.rat.Cmp(n.rat) == 0 {
			return exact(new(big.Rat).SetInt64(int64(r)), n.decimal)
		}
	}
	return out, out.check()
}

// exactRoot is the square root of a square of a fraction, else nil.
func exactRoot(r *big.Rat) *big.Rat {
	if r == nil || r.Sign() < 0 {
		return nil
	}
	num, den := new(big.Int).Sqrt(r.Num()), new(big.Int).Sqrt(r.Denom())
	root := new(big.Rat).SetFrac(num, den)
	if new(big.Rat).Mul(root, root).Cmp(r) != 0 {
		return nil
	}
	return root
}

var digits = regexp.MustCompile(`^(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?`)

// literal is a number as written, with or without thousands separators, and a mixed number: a whole one
// before a proper \frac.
func (e *expression) literal() (number, error) {
	text := digits.FindString(e.s[e.at:])
	if text == "" {
		return number{}, errNoNumber
	}
	e.at += len(text)
	if e.at < len(e.s) && e.s[e.at] == '.' && (e.at+1 == len(e.s) || e.s[e.at+1] == ' ') { // "5."
		e.at++
	}
	text = strings.ReplaceAll(text, ",", "")
	decimal := strings.Contains(text, ".")
	if len(text) > maxDigits {
		return number{}, errNoNumber
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return number{}, errNoNumber
	}
	if m := mixed.FindStringSubmatch(e.s[e.at:]); m != nil && !decimal {
		a, errA := strconv.ParseInt(m[1], 10, 64)
		b, errB := strconv.ParseInt(m[2], 10, 64)
		if errA == nil && errB == nil && a < b {
			e.at += len(m[0])
			return exact(r.Add(r, big.NewRat(a, b)), false)
		}
	}
	return exact(r, decimal)
}

var mixed = regexp.MustCompile(`^\s*\\frac\{\s*(\d{1,18})\s*\}\{\s*(\d{1,18})\s*\}`)

func combine(n, m number, op byte) (number, error) {
	decimal := n.decimal || m.decimal
	if op == '/' && m.f == 0 {
		return n, errNoNumber
	}
	if n.rat != nil && m.rat != nil {
		r := new(big.Rat)
		switch op {
		case '+':
			r.Add(n.rat, m.rat)
		case '-':
			r.Sub(n.rat, m.rat)
		case '*':
			r.Mul(n.rat, m.rat)
		case '/':
			if m.rat.Sign() == 0 {
				return n, errNoNumber
			}
			r.Quo(n.rat, m.rat)
		}
		return exact(r, decimal)
	}
	out := number{decimal: decimal}
	switch op {
	case '+':
		out.f = n.f + m.f
	case '-':
		out.f = n.f - m.f
	case '*':
		out.f = n.f * m.f
	case '/':
		out.f = n.f / m.f
	}
	return out, out.check()
}

// power is n^m; exact for whole exponents of moderate size.
func power(n, m number) (number, error) {
	if m.rat != nil && m.rat.IsInt() && math.Abs(m.f) <= maxExponent && n.rat != nil {
		k := int64(m.f)
		bits := max(n.rat.Num().BitLen(), n.rat.Denom().BitLen())
		if n.rat.Sign() == 0 && k <= 0 {
			return n, errNoNumber
		}
		if int64(bits)*max(k, -k) <= maxBits {
			size := big.NewInt(max(k, -k))
			r := new(big.Rat).SetFrac(new(big.Int).Exp(n.rat.Num(), size, nil), new(big.Int).Exp(n.rat.Denom(), size, nil))
			if k < 0 {
				r.Inv(r)
			}
			return exact(r, n.decimal)
		}
	}
	out := number{f: math.Pow(n.f, m.f), decimal: true}
	return out, out.check()
}

// near reports whether two numbers are the same. Exact ones are compared exactly first. Where either
// may have been rounded, and not both are whole, they may differ by the tolerance relative to the
// larger one.
func (n number) near(m number, tolerance float64) bool {
	if n.rat != nil && m.rat != nil {
		if n.rat.Cmp(m.rat) == 0 {
			return true
		}
		if n.rat.IsInt() && m.rat.IsInt() || !n.decimal && !m.decimal {
			return false
		}
	}
	return math.Abs(n.f-m.f) <= tolerance*max(math.Abs(n.f), math.Abs(m.f))
}

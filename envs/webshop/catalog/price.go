package catalog

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/hindsightrl/harness/envs/webshop/internal/py"
	"github.com/hindsightrl/harness/internal/pyrand"
)

// noPrice is what a product costs that states no price, in dollars.
const noPrice = 100.0

// parsePricing reads "$12.50" or "$10.00$20.00": the amounts after each dollar sign, two at most, and
// the tag that pages show.
func parsePricing(pricing string) (amounts []float64, tag string, err error) {
	if pricing == "" {
		return []float64{noPrice}, "$" + py.Float(noPrice), nil
	}
	for i, piece := range strings.Split(pricing, "$") {
		if i == 0 {
			continue
		}
		a, err := parseAmount(piece)
		if err != nil {
			return nil, "", fmt.Errorf("price %q: %w", pricing, err)
		}
		amounts = append(amounts, a)
	}
	switch len(amounts) {
	case 0:
		return nil, "", fmt.Errorf("price %q has no dollar sign", pricing)
	case 1:
		return amounts, "$" + py.Float(amounts[0]), nil
	}
	return amounts[:2:2], "$" + py.Float(amounts[0]) + " to $" + py.Float(amounts[1]), nil
}

// parseAmount keeps digits and dots and reads them as a decimal number.
func parseAmount(s string) (float64, error) {
	digits := make([]byte, 0, len(s))
	for _, r := range s {
		switch {
		case '0' <= r && r <= '9' || r == '.':
			digits = append(digits, byte(r))
		case r > 0x7f && unicode.Is(unicode.Nd, r):
			digits = append(digits, byte('0'+digitValue(r)))
		}
	}
	a, err := strconv.ParseFloat(string(digits), 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no amount", s)
	}
	return a, nil
}

// digitValue of a decimal digit: each block of ten starts at its zero.
func digitValue(r rune) int {
	n := 0
	for unicode.Is(unicode.Nd, r-rune(n)-1) && n < 9 {
		n++
	}
	return n
}

// drawPrices draws what each product costs: the amount, or a uniform one between two.
func drawPrices(c *Catalog, r *pyrand.Rand) []float64 {
	out := make([]float64, len(c.Products))
	for i := range c.Products {
		switch p := c.Products[i].Pricing; len(p) {
		case 1:
			out[i] = p[0]
		default:
			out[i] = r.Uniform(p[0], p[1])
		}
	}
	return out
}

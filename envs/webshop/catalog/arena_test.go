package catalog

import (
	"fmt"
	"strings"
	"testing"
)

// What is kept stays when the memory it was read from is used again, and lists do not run into each other.
func TestArenaKeeps(t *testing.T) {
	t.Parallel()
	k := newKeeper(newTexts())
	var kept []*Product
	if first := k.list([]string{}); first == nil { // also before there is a block
		t.Error("an empty list became none")
	}
	source := make([]byte, 0, 1<<10)
	view := func(s string) string { source = append(source[:0], s...); return string(source) }
	for i := range 3000 {
		p := &Product{ASIN: view(fmt.Sprint("B", i)), Title: view(strings.Repeat("t", i%900)), Category: view("c"), Options: []Option{{"size", []string{"s", fmt.Sprint(i)}}, {"none", []string{}}}}
		k.product(p)
		kept = append(kept, p)
	}
	for _, p := range kept { // an append must not reach the next list
		_ = append(p.Options, Option{Name: "x"})
		_ = append(p.Options[0].Values, "x")
	}
	for i, p := range kept {
		if p.ASIN != fmt.Sprint("B", i) || len(p.Title) != i%900 || len(p.Options) != 2 || p.Options[0].Values[1] != fmt.Sprint(i) || p.Options[1].Values == nil {
			t.Fatalf("product %d: %+v", i, p)
		}
	}
}

// Ids are found while the table grows; a known one is not taken twice.
func TestIDs(t *testing.T) {
	t.Parallel()
	var known ids
	var products []Product
	for i := range 5000 {
		products = append(products, Product{ASIN: fmt.Sprint(i % 4000)})
		if fresh := known.add(products); fresh != (i < 4000) {
			t.Fatalf("id %d: new %v", i, fresh)
		} else if !fresh {
			products = products[:len(products)-1]
		}
	}
	for i := range 4000 {
		if n, _, ok := known.find(products, fmt.Sprint(i)); !ok || n != i {
			t.Fatalf("id %d is at %d, %v", i, n, ok)
		}
	}
	if _, _, ok := known.find(products, "4000"); ok {
		t.Error("an id that was not added is known")
	}
}

// Package gen makes up shops: products with options and attributes, and instructions to buy them, in
// the original's file formats but in wording of its own. A shop depends on its size and seed alone.
//
// The embedded shop is one of 360 products; a benchmark may ask for a million.
package gen

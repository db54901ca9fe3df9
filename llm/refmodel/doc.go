// Package refmodel is the built-in reference model: a small, exact language model over word and byte
// tokens that runs in this process and downloads nothing.
//
// A prediction mixes two parts. The static part is an n-gram model primed with transcripts of an
// expert. The copying part reads the whole context: after a stretch of text that occurred before, what
// followed it then is likely now, and more so where the words around it are what the text is about or
// where the context says that it succeeded; less where the context says that it failed. Both parts are
// normalised in closed form, so a log-probability and an entropy are exact and take about a
// microsecond.
//
// The model has no state and is never trained: equal contexts give equal numbers, bit for bit, on any
// goroutine. It plays text games a little and knows nothing else. docs/refmodel.md has the formulas.
package refmodel

// Package search ranks the shop's products as the original's Lucene index does: the same tokens, the
// same scores to the last bit, the same order.
//
// It owns analysis (StandardTokenizer, possessives, lower case, stop words, Porter stems) and BM25 in
// Lucene's float32 arithmetic. An Index is immutable once built and shared by all episodes.
//
// Source: the behaviour of Lucene 8's analyzers and of Anserini 0.14's BM25 defaults (k1 0.9, b 0.4),
// checked against recorded tokens and scores.
package search

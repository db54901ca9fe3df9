// Package webshop is the shopping environment WebShop, native: it loads the original's data or the
// embedded shop, plays episodes in process with the original's search, pages, rewards and random
// draws, advises from any state, and checks itself against records of the original.
//
// The parts are packages of their own: catalog (stock, prices, goals), search (ranking), reward
// (scores), page (rendering), shop (episodes), site (web pages). This package joins them to the
// vocabulary of the root.
//
// # Nouns
//
// A purchase's reward depends on which words of titles are nouns, which the original asks spaCy. A noun
// table (--nouns, made by scripts/webshop_nouns.py with spaCy 3.8 and en_core_web_sm 3.8.0) gives the
// same answers; the embedded shop brings its own. Without one a tagger in Go decides, and runs record
// so (Suite.Info): it judges the goal's own product alike, and some other products otherwise.
package webshop

// Package webshop is the shopping environment WebShop, native: it loads the original's data or the
// embedded shop, plays episodes in process with the original's search, pages, rewards and random
// draws, advises from any state, and checks itself against records of the original.
//
// The parts are packages of their own: catalog (stock, prices, goals), search (ranking), reward
// (scores), page (rendering), shop (episodes), site (web pages). This package joins them to the
// vocabulary of the root.
package webshop

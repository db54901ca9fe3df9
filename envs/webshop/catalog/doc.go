// Package catalog is the shop's stock: products as the original's load_products makes them, their
// prices, and the goals that instructions are drawn from, equal to the original's for a seed.
//
// It owns reading the data files and every draw that depends on a seed. Searching is package search,
// scoring is package reward.
//
// Source: princeton-nlp/WebShop@64fa2a5 web_agent_site/engine/engine.py (load_products,
// generate_product_prices), engine/goal.py (get_goals), utils.py (random_idx); the differences of the
// "serl" variant: OliverLeeXZ/SERL@5a2a85b.
package catalog

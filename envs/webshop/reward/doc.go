// Package reward scores purchases as the original's goal.py does: by the type of the product, its
// attributes, its options and its price, with the same fuzzy matching and the same rounding.
//
// Source: princeton-nlp/WebShop@64fa2a5 web_agent_site/engine/goal.py and normalize.py;
// thefuzz@0.19.0 fuzz.token_set_ratio over difflib.
package reward

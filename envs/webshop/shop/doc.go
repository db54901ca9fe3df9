// Package shop is the shop at work: a session goes from page to page as the original's simulated
// server and browser do, action by action.
//
// A Shop (stock, index, nouns) is immutable and shared; a Session owns one visit, a few hundred bytes.
// TextEnv adds what the original's environment keeps around sessions: their names, the random stream,
// the previous observations.
//
// Source: princeton-nlp/WebShop@64fa2a5 web_agent_site/envs/web_agent_text_env.py.
package shop

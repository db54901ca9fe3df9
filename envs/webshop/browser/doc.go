// Package browser plays the shop in a real browser: the site is served on loopback by this process, a
// headless Chromium shows it, and actions are clicks and searches on the page. Observations are read
// from what Chromium has made of the markup.
//
// A Suite owns one browser process that all its episodes share, each in a context and a page of its
// own; how many at once is bounded. The process talks over a pair of pipes, so that no port is open
// and Chromium ends when this process does, however it ends. A browser that is missing, hangs or dies
// is an error of kind harness.FailEnv; the next episode gets a new one.
//
// What the shop is, the packages beside this one know; this one knows pages alone.
//
// Source: princeton-nlp/WebShop@64fa2a5 web_agent_site/envs/web_agent_site_env.py.
package browser

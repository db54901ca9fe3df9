// Package site serves the shop as web pages, with the routes, forms, addresses, redirects and logs of
// the original's Flask application, so that agents written for its browser mode work.
//
// Pages load their script and style from the site itself; with Config.Original they are byte for byte
// the original's, which load them from elsewhere.
//
// Source: princeton-nlp/WebShop@64fa2a5 web_agent_site/app.py, under Flask 2.1 and Werkzeug 2.1.
package site

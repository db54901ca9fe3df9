// Package page renders the shop's pages: as HTML, byte for byte that of the original's templates, and
// as the two kinds of text that its environment makes of that HTML. It holds no state; addresses are
// the caller's.
//
// The templates are those of princeton-nlp/WebShop@64fa2a5 web_agent_site/templates (MIT licence,
// Copyright (c) 2023 Princeton Natural Language Processing), in the notation of text/template. Text is
// emitted directly, node by node, as BeautifulSoup would find the nodes in the HTML.
package page

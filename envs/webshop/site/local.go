package site

import "strings"

// vendored replaces what the original's pages load from other hosts. Its own style.css is part of
// the site's. The replaced lines stand in the head, before anything that a product says.
var vendored = strings.NewReplacer(
	`    <link rel="stylesheet" href="https://cdnjs.cloudflare.com/ajax/libs/font-awesome/4.7.0/css/font-awesome.min.css">`+"\n", "",
	`    <link rel="stylesheet" href="https://cdnjs.cloudflare.com/ajax/libs/font-awesome/4.0.3/css/font-awesome.css	">`+"\n", "",
	`    <link rel="stylesheet" href="https://maxcdn.bootstrapcdn.com/bootstrap/3.4.1/css/bootstrap.min.css">`+"\n", "",
	`    <script src="https://ajax.googleapis.com/ajax/libs/jquery/3.5.1/jquery.min.js"></script>`+"\n", `    <script src="/static/shop.js"></script>`+"\n",
	`    <script src="https://stackpath.bootstrapcdn.com/bootstrap/4.3.1/js/bootstrap.bundle.min.js"></script>`+"\n", "",
)

// local makes a page load nothing from other hosts, except products' pictures.
func local(html string) string {
	const end = "</head>"
	i := strings.Index(html, end)
	if i < 0 {
		return html
	}
	return vendored.Replace(html[:i]) + html[i:]
}

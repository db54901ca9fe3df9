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

// policy lets a page run the site's script and no other, and load nothing from other hosts but
// products' pictures, whatever a product's text says.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src * data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// local makes a page load nothing from other hosts, except products' pictures.
func local(html string) string {
	const end = "</head>"
	i := strings.Index(html, end)
	if i < 0 {
		return html
	}
	html = vendored.Replace(html[:i]) + inert(html[i:])
	// A browser takes a bare carriage return for a line break.
	return strings.ReplaceAll(html, "\r", "&#13;")
}

// inert takes the item page's script out, which writes what products say into the program text: a
// back quote or a dollar sign with a brace there is a program of the product's, and a double quote
// breaks all options. Its data stay, for the site's own script to read.
func inert(body string) string {
	const open = "  <script>\n"
	i := strings.LastIndex(body, open)
	j := strings.LastIndex(body, "</script>")
	if i < 0 || j < i {
		return body
	}
	program := body[i+len(open) : j]
	return body[:i] + `  <script type="application/json" id="shop-data">{"options": ` + data(program, "options") +
		`, "images": ` + data(program, "option_to_image") + "}" + body[j:]
}

// data is the JSON that the script gives a variable, on one line. It holds no character that HTML reads.
func data(program, variable string) string {
	_, after, ok := strings.Cut(program, "let "+variable+" = JSON.parse(`")
	if !ok {
		return "{}"
	}
	line, _, _ := strings.Cut(after, "\n")
	return strings.TrimSuffix(line, "`);")
}

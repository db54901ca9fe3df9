package page

import (
	"strconv"
	"strings"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/internal/py"
)

// Kind is which of the shop's pages it is.
type Kind uint8

// The pages.
const (
	Start   Kind = iota // the search page
	Results             // of a search
	Item                // one product
	Sub                 // description, features, reviews or attributes of a product
	Done                // thanks for buying
)

// The buttons, as pages show them.
const (
	Search       = "Search"
	BackToSearch = "Back to Search"
	Prev         = "< Prev"
	Next         = "Next >"
	BuyNow       = "Buy Now"
)

// The sub pages, as pages and addresses name them.
const (
	Description = "Description"
	Features    = "Features"
	Reviews     = "Reviews"
	Attributes  = "Attributes"
)

// SubPages are the names of the sub pages.
var SubPages = []string{Description, Features, Reviews, Attributes}

// PerPage is the number of products on a page of results.
const PerPage = 10

// Page is all that a page shows.
type Page struct {
	Kind        Kind
	Instruction string

	Number   int // of a page of results
	Total    int
	Products []*catalog.Product

	Product        *catalog.Product // of the other pages behind the search
	Details        *catalog.Details // of sub pages, and of HTML
	Options        py.Dict          // chosen
	Sub            string           // which sub page
	ShowAttributes bool             // the item page has a button for them
	Receipt        *Receipt

	Links  Links  // of HTML
	Static string // of HTML: where style and script lie, with a slash behind
}

// Links makes a page's addresses, unescaped.
type Links interface {
	Index() string
	Results(number int) string
	Back() string // the page of results that the product was found on
	Item(asin string, options py.Dict) string
	Sub(name string) string
	Done() string
}

// Receipt is what the last page shows. The environment's own shows the score alone; what is nil
// prints as None.
type Receipt struct {
	Score           string
	Code            string
	Attributes      string // bought
	Category        string
	Query           string
	ProductCategory string
	GoalDict        py.Dict // nil: the fields of the goal stay empty
	Info            string
}

// NewReceipt is the environment's receipt.
func NewReceipt(score float64) *Receipt {
	const none = "None"
	return &Receipt{Score: py.Float(score), Code: none, Attributes: none, Category: none, Query: none, ProductCategory: none, Info: none}
}

// Goal prints a field of the goal.
func (r *Receipt) Goal(key string) string {
	v, ok := r.GoalDict.Get(key)
	if !ok {
		return ""
	}
	return py.Str(v)
}

// GoalText prints the goal.
func (r *Receipt) GoalText() string {
	if r.GoalDict == nil {
		return "None"
	}
	return py.Pretty(r.GoalDict)
}

// ReadNumber reads a page's number as Python's int does.
func ReadNumber(s string) (int, error) {
	return strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(s), "_", ""))
}

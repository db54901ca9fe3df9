package testlog

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// parseDoctest reads the XML report of doctest (C++): a case is "TestCase > SubCase", and it passed if
// every expression inside it did.
func parseDoctest(log string, _ Subject, out *Statuses) error {
	start := strings.Index(log, "<doctest")
	if start < 0 {
		return nil
	}
	const closing = "</doctest>"
	end := strings.Index(log[start:], closing)
	if end < 0 {
		return errors.New("the XML report does not end")
	}
	dec := xml.NewDecoder(strings.NewReader(log[start : start+end+len(closing)]))
	r := doctestReader{out: out}
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read XML report: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			r.open(t)
		case xml.EndElement:
			r.close()
		}
	}
}

// doctestReader follows the open elements. A result is set when its SubCase opens, which gives it its
// place, and lowered when an expression in it fails.
type doctestReader struct {
	out   *Statuses
	stack []doctestElement
}

type doctestElement struct {
	kind    string
	name    string
	results []string // of a SubCase: its names, one for each TestCase around it
}

func (r *doctestReader) open(t xml.StartElement) {
	e := doctestElement{kind: t.Name.Local, name: "None"} // an absent name prints as Python's None
	success := ""
	for _, a := range t.Attr {
		switch a.Name.Local {
		case "name":
			e.name = a.Value
		case "success":
			success = a.Value
		}
	}
	switch e.kind {
	case "SubCase":
		for _, outer := range r.stack {
			if outer.kind == "TestCase" {
				name := outer.name + " > " + e.name
				e.results = append(e.results, name)
				r.out.Set(name, Passed)
			}
		}
	case "Expression":
		if success != "true" {
			for _, outer := range r.stack {
				for _, name := range outer.results {
					r.out.Set(name, Failed)
				}
			}
		}
	}
	r.stack = append(r.stack, e)
}

func (r *doctestReader) close() { r.stack = r.stack[:len(r.stack)-1] }

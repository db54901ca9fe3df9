// Package jsonx reads large JSON files of many small records: it cuts a top-level array or object into
// its elements without holding the file, and walks one element's fields in their order, converting
// only what is asked for. encoding/json keeps neither the order of keys nor that pace.
package jsonx

package store

import (
	"database/sql/driver"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A text value is a Go string in a column of type ANY: SQL TEXT where a database shell can show it as
// it is, else a framed BLOB (bytes that are no UTF-8, NUL bytes, long texts that zstd shortens).

func textValue(s string) driver.Value {
	if len(s) >= zstdMin {
		if z := squeeze(codecZstd, []byte(s)); z != nil {
			return z
		}
	}
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return append([]byte{codecRaw}, s...)
}

func textOf(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case []byte:
		raw, err := unframe(v, nil)
		return string(raw), err
	}
	return "", badBlob("text is a %T", v)
}

// plain reports a string that cannot be SQL TEXT: names and ids must be, so that they can be sorted,
// grouped and typed at a command line.
func plain(what, s string) error {
	if !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
		return fmt.Errorf("%s %q: not UTF-8 text without NUL bytes", what, s)
	}
	return nil
}

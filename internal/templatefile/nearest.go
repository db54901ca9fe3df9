package templatefile

// Nearest returns the candidate with the smallest edit distance to name, the first one of several.
func Nearest(name string, candidates []string) string {
	best, at := "", -1
	for _, c := range candidates {
		if d := editDistance(name, c); at < 0 || d < at {
			best, at = c, d
		}
	}
	return best
}

// Misspelt returns the candidate that name is most likely a slip of: at most two edits away. "" means
// that name looks like something else.
func Misspelt(name string, candidates []string) string {
	if c := Nearest(name, candidates); c != "" && editDistance(name, c) <= 2 {
		return c
	}
	return ""
}

// editDistance is the Levenshtein distance in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

package credit

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestImports: credit is arithmetic. Whatever it imports directly must be on this list.
func TestImports(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{join .Imports "\n"}}`, ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	allowed := []string{"errors", "fmt", "math", "slices"}
	for _, path := range strings.Fields(string(out)) {
		if !slices.Contains(allowed, path) {
			t.Errorf("credit imports %s, allowed are %v", path, allowed)
		}
	}
}

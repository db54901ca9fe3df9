package errext_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hindsightrl/harness/internal/errext"
)

func TestHintAndCodeSurviveWrapping(t *testing.T) {
	t.Parallel()
	base := errors.New("no such file")
	err := fmt.Errorf("open panel: %w", errext.WithCode(errext.WithHint(base, "harness panel make"), 2))
	if got := errext.Hint(err); got != "harness panel make" {
		t.Errorf("Hint = %q", got)
	}
	if got := errext.Code(err, 1); got != 2 {
		t.Errorf("Code = %d", got)
	}
	if !errors.Is(err, base) || err.Error() != "open panel: no such file" {
		t.Errorf("chain lost: %v", err)
	}
}

func TestOutermostHintWins(t *testing.T) {
	t.Parallel()
	err := errext.WithHint(fmt.Errorf("outer: %w", errext.WithHint(errors.New("x"), "inner")), "outer")
	if got := errext.Hint(err); got != "outer" {
		t.Errorf("Hint = %q, want outer", got)
	}
}

func TestNilStaysNil(t *testing.T) {
	t.Parallel()
	if errext.WithHint(nil, "h") != nil || errext.WithCode(nil, 3) != nil {
		t.Error("a nil error was wrapped")
	}
	if errext.Hint(nil) != "" || errext.Code(errors.New("x"), 7) != 7 {
		t.Error("defaults are wrong")
	}
}

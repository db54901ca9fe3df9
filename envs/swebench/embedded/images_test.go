package embedded_test

import (
	"strings"
	"testing"

	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/swebench/embedded/embtest"
)

// TestImagesHoldTheInstances runs what the rows say about the images in them.
func TestImagesHoldTheInstances(t *testing.T) {
	t.Parallel()
	e, data := embtest.Open(t)
	for _, in := range data.Instances {
		t.Run(in.ID, func(t *testing.T) {
			t.Parallel()
			c, err := e.Start(t.Context(), container.Spec{Image: in.Image})
			if err != nil {
				t.Fatal(err)
			}
			run := func(line string) string {
				t.Helper()
				res, err := c.Exec(t.Context(), container.Command{Args: []string{"bash", "-c", line}, Dir: "/testbed"})
				if err != nil {
					t.Fatal(err)
				}
				return strings.TrimSpace(string(res.Output))
			}
			if head := run("git rev-parse HEAD"); head != in.BaseCommit {
				t.Errorf("the image's HEAD is %s, the row's base commit %s", head, in.BaseCommit)
			}
			if state := run("git status --porcelain"); state != "" {
				t.Errorf("the tree is not clean: %s", state)
			}
			if ahead := run("git rev-list --count HEAD..repair"); ahead != "1" {
				t.Errorf("the future has %s commits, want one to scrub", ahead)
			}
		})
	}
}

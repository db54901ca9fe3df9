package shop_test

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/gen"
	"github.com/hindsightrl/harness/envs/webshop/shop"
)

var (
	products = flag.Int("products", 20_000, "products of the made-up shop that BenchmarkLargeShop loads: 1180000 is the size of the original's full data")
	folder   = flag.String("shop-folder", "", "folder that keeps the made-up shop from one BenchmarkLargeShop to the next")
	kept     = flag.String("shop-cache", "", "folder of the cache that BenchmarkLargeShop opens the shop from; the first time makes it")
)

// BenchmarkLargeShop loads a made-up shop from its files and searches it with titles of its products.
func BenchmarkLargeShop(b *testing.B) {
	dir := *folder
	if dir == "" {
		dir = b.TempDir()
	}
	if _, err := os.Stat(filepath.Join(dir, gen.ProductFile)); err != nil {
		if err := gen.Write(dir, gen.Config{Products: *products, Seed: 1, Filler: 100}); err != nil {
			b.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, gen.ProductFile))
	if err != nil {
		b.Fatal(err)
	}
	start, cpu := time.Now(), used(b)
	s, err := shop.Open(b.Context(), dir, shop.Config{Cache: *kept, Note: func(note string) { b.Log(note) }})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	loaded, cpu := time.Since(start), used(b)-cpu
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fromSystem := m.Sys
	runtime.GC()
	runtime.ReadMemStats(&m)
	b.Logf("%d products, %d MB: loaded in %v, %v of CPU; %d MiB of heap, %d MiB from the system, %d MiB resident at most; %d terms",
		len(s.Products), info.Size()>>20, loaded.Round(time.Millisecond), cpu.Round(time.Millisecond), m.HeapAlloc>>20, fromSystem>>20, resident(b)>>20, s.Index.Terms())
	start = time.Now()
	w, err := catalog.NewWorld(s.Catalog, catalog.WorldConfig{Variant: catalog.SERL, Seed: 42})
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d goals drawn in %v", w.Len(), time.Since(start).Round(time.Millisecond))
	var took []time.Duration
	i := 0
	b.ResetTimer()
	for b.Loop() {
		p := &s.Products[i*7919%len(s.Products)]
		query := p.Title
		if i%2 == 1 {
			g := w.At(i * 7919 % w.Len())
			query = g.Instruction
		}
		t := time.Now()
		found := s.Find(strings.ToLower(query))
		took = append(took, time.Since(t))
		if len(found) == 0 {
			b.Fatalf("%q finds nothing", query)
		}
		i++
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "median-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// used is the CPU time of this process.
func used(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident is the most memory that this process ever had, in bytes.
func resident(b *testing.B) int64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Maxrss << 10 // Linux counts KiB
}

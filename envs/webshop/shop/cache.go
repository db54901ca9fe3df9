package shop

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/internal/packed"
	"github.com/hindsightrl/harness/envs/webshop/search"
)

// cacheFormat is the version of what writeCache writes around catalog and index.
const cacheFormat = 1

// cacheMagic begins a cache: "HSWSHOP" and a zero.
const cacheMagic = 0x00504f4853575348

// errStale marks a cache of other data or of another version.
var errStale = errors.New("it was made from other data, or by another version")

// cacheFile is the name of a shop's cache: one for each product file by its place, and for each limit. Its
// content says which bytes it was made from.
func cacheFile(dir string, paths catalog.Paths, limit int) (string, error) {
	name, err := filepath.Abs(paths.Products)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(name + "\x00" + strconv.Itoa(limit)))
	return filepath.Join(dir, hex.EncodeToString(sum[:8])+".shop"), nil
}

// openCached opens a shop from its cache, if that was made from the very bytes of the data files; else it
// loads the files and makes the cache.
func openCached(ctx context.Context, paths catalog.Paths, cfg Config) (*Shop, error) {
	file, err := cacheFile(cfg.Cache, paths, cfg.Limit)
	if err != nil {
		return nil, err
	}
	note := func(format string, args ...any) {
		if cfg.Note != nil {
			cfg.Note(fmt.Sprintf(format, args...))
		}
	}
	s, err := readCache(ctx, file, paths, cfg)
	switch {
	case err == nil:
		return s, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !errors.Is(err, fs.ErrNotExist):
		note("the cache %s of %s is not used and made anew: %v", file, paths.Products, err)
	}
	defer catalog.Loading()() // writing leaves nothing behind either
	if s, err = load(ctx, paths, cfg); err != nil {
		return nil, err
	}
	if err := writeCache(file, s, cfg.Limit); err != nil {
		note("the cache %s of %s is not written, so that the next start loads the products again: %v", file, paths.Products, err)
	}
	return s, nil
}

// header is the first column.
func header(limit int) []uint64 {
	return []uint64{cacheMagic, cacheFormat, catalog.Format, search.Format, uint64(limit)}
}

// readCache reads a cache, and the data files beside it for their digest.
func readCache(ctx context.Context, file string, paths catalog.Paths, cfg Config) (*Shop, error) {
	s, err := empty(cfg)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r := packed.NewReader(bufio.NewReaderSize(f, 1<<20), info.Size())
	if got := packed.Read[uint64](r); r.Err() == nil && !slices.Equal(got, header(cfg.Limit)) {
		return nil, errStale
	}
	defer catalog.Loading()()
	eg, ctx := errgroup.WithContext(ctx)
	var digest uint64
	eg.Go(func() (err error) {
		digest, err = paths.Digest(ctx)
		return err
	})
	var c *catalog.Catalog
	eg.Go(func() error {
		p, err := catalog.ReadPacked(r)
		if err != nil {
			return err
		}
		eg.Go(func() (err error) {
			c, err = p.Catalog(ctx, paths)
			return err
		})
		if s.Index, err = search.Unpack(r); err != nil {
			return err
		}
		return r.Close()
	})
	err = eg.Wait()
	switch {
	case err == nil && c.Digest != digest:
		err = errStale
	case err == nil && s.Index.Docs() != len(c.Products):
		err = fmt.Errorf("%w: %d products, but %d in the index", packed.ErrDamaged, len(c.Products), s.Index.Docs())
	case err == nil:
		s.stock(c)
		return s, nil
	}
	if c != nil {
		err = errors.Join(err, c.Close())
	}
	return nil, err
}

// abandoned is the age from which on a part of a cache is taken for one whose writer died: writing the
// largest shop takes seconds.
const abandoned = time.Hour

// tidy removes what writers of this cache left that died. What cannot be removed stays: it is in nobody's
// way but the disk's.
func tidy(file string) {
	parts, err := filepath.Glob(file + ".*.part")
	if err != nil {
		return // the folder's name is no pattern
	}
	for _, part := range parts {
		if info, err := os.Stat(part); err == nil && time.Since(info.ModTime()) > abandoned {
			_ = os.Remove(part)
		}
	}
}

// writeCache writes a cache beside its place and moves it there, so that no reader sees half of one.
func writeCache(file string, s *Shop, limit int) (err error) {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tidy(file)
	f, err := os.CreateTemp(dir, filepath.Base(file)+".*.part")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	w := packed.NewWriter(f)
	packed.Write(w, header(limit))
	s.Pack(w)
	s.Index.Pack(w)
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

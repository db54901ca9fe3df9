package catalog

import (
	"runtime/debug"
	"sync"
)

// loadLimit is the memory up to which no garbage is collected while a large shop is loaded, in bytes.
// What is loaded stays, so that collecting on the way finds little.
const loadLimit = 3 << 30

// loads counts what is being loaded, and holds what the first of them found set.
var loads struct {
	sync.Mutex
	n       int
	limit   int64
	percent int
}

// Loading has garbage collected only near a limit of memory, of 3 GiB or the lower one that is set, until
// the returned function is called. It may be called while another load is under way.
func Loading() (done func()) {
	loads.Lock()
	defer loads.Unlock()
	if loads.n++; loads.n == 1 {
		loads.limit = debug.SetMemoryLimit(-1)
		debug.SetMemoryLimit(min(loads.limit, loadLimit))
		loads.percent = debug.SetGCPercent(-1)
	}
	return sync.OnceFunc(func() {
		loads.Lock()
		defer loads.Unlock()
		if loads.n--; loads.n == 0 {
			debug.SetGCPercent(loads.percent)
			debug.SetMemoryLimit(loads.limit)
		}
	})
}

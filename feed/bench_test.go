package feed

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/hindsightrl/harness"
)

// Sizes of a group: 8 episodes of 20 steps, prompts of 800 tokens, responses of 400.
const benchRows, benchPrompt, benchTokens = 160, 800, 400

// BenchmarkLoopback sends batches of one group with all fields over loopback and decodes them. tokens/s
// counts response tokens, of which each has eleven columns; all/s counts prompt tokens too.
func BenchmarkLoopback(b *testing.B) {
	for _, transport := range []string{"websocket", "http"} {
		b.Run(transport, func(b *testing.B) {
			m := newMemory(1, benchRows, benchPrompt, benchTokens)
			_, url := startServer(b, m, nil)
			var c *websocket.Conn
			if transport == "websocket" {
				c = dial(b, url)
			}
			b.ResetTimer()
			cpu := cpuSeconds(b)
			for i := range b.N {
				id := fmt.Sprint(i)
				var raw io.Reader
				if c != nil {
					if a := call(b, c, fmt.Sprintf(`{"op":"lease","lease":%q}`, id)); a.Batch == nil {
						b.Fatalf("%+v", a)
					}
					var err error
					if _, raw, err = c.NextReader(); err != nil {
						b.Fatal(err)
					}
				} else {
					resp, err := http.Post(url+"/v1/lease", "application/json", stringBody(fmt.Sprintf(`{"lease":%q}`, id)))
					if err != nil {
						b.Fatal(err)
					}
					defer resp.Body.Close()
					raw = resp.Body
				}
				if _, rows, err := ReadArrow(raw); err != nil || len(rows) != benchRows {
					b.Fatalf("%d rows: %v", len(rows), err)
				}
				if _, err := m.Return(context.Background(), id, ""); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*benchRows*benchTokens/(cpuSeconds(b)-cpu), "tokens/cpu-s")
			report(b)
		})
	}
}

// cpuSeconds is the processor time of server and client, which share this process: on a busy machine the
// clock on the wall says little.
func cpuSeconds(tb testing.TB) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func report(b *testing.B) {
	seconds := b.Elapsed().Seconds()
	b.ReportMetric(float64(b.N)*benchRows*benchTokens/seconds, "tokens/s")
	b.ReportMetric(float64(b.N)*benchRows*(benchTokens+benchPrompt)/seconds, "all/s")
}

// BenchmarkEncode lays a group out and writes it, without a network.
func BenchmarkEncode(b *testing.B) {
	m := newMemory(1, benchRows, benchPrompt, benchTokens)
	for _, format := range []string{FormatArrow, FormatJSON} {
		b.Run(format, func(b *testing.B) {
			for range b.N {
				part, err := rows(b.Context(), m, harness.Lease{}, &Header{Pass: *testPass()}, 0)
				if err != nil {
					b.Fatal(err)
				}
				w, err := newEncoder(io.Discard, &Header{Pass: *testPass()}, format)
				if err != nil {
					b.Fatal(err)
				}
				if err := w.Write(part); err != nil {
					b.Fatal(err)
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
			}
			report(b)
		})
	}
}

package openenv

import (
	"fmt"
	"testing"

	"github.com/gorilla/websocket"
)

// BenchmarkStep is a step over loopback, with the fake environment, from one client and from eight.
func BenchmarkStep(b *testing.B) {
	for _, clients := range []int{1, 8} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			r := start(b, goals(1<<30), Config{MaxSessions: clients}).url
			b.SetParallelism(clients)
			conns := make(chan *websocket.Conn, clients)
			for range clients {
				c, resp, err := websocket.DefaultDialer.Dial(dialURL(r, "/ws"), nil)
				if err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
				exchange(b, c, `{"type":"reset"}`)
				conns <- c
			}
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					c := <-conns
					exchange(b, c, `{"type":"step","data":{"text":"look"}}`)
					conns <- c
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
			for range clients {
				(<-conns).Close()
			}
		})
	}
}

func exchange(b *testing.B, c *websocket.Conn, msg string) {
	if err := c.WriteMessage(websocket.TextMessage, []byte(msg)); err != nil {
		b.Error(err)
	}
	if _, _, err := c.ReadMessage(); err != nil {
		b.Error(err)
	}
}

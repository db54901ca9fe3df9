package teacher

import "testing"

// BenchmarkContexts builds every context of 16 groups of 8 episodes of 30 steps, messages included.
func BenchmarkContexts(b *testing.B) {
	rows := household(1, 16, 8, 30)
	for _, mode := range append(Unjudged(), Privileged, AnchorPrivileged) {
		b.Run(string(mode), func(b *testing.B) {
			cfg := DefaultConfig(mode)
			b.ReportAllocs()
			for b.Loop() {
				batch, err := Build(rows, cfg, DefaultTemplates())
				if err != nil {
					b.Fatal(err)
				}
				for i := range batch.Len() {
					sink += len(batch.Context(i).Messages[0].Content)
				}
			}
			b.ReportMetric(float64(b.N*len(rows))/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkGroupSize shows that the cost per row of an anchor mode does not grow with the group.
func BenchmarkGroupSize(b *testing.B) {
	for _, episodes := range []int{8, 64, 512} {
		rows := household(1, 1, episodes, 30)
		b.Run(rows[len(rows)-1].Episode, func(b *testing.B) {
			for b.Loop() {
				batch, err := Build(rows, DefaultConfig(AnchorImmediateFeedback), DefaultTemplates())
				if err != nil {
					b.Fatal(err)
				}
				for i := range batch.Len() {
					sink += len(batch.Context(i).Messages[0].Content)
				}
			}
			b.ReportMetric(float64(b.N*len(rows))/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

var sink int

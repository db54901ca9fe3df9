// Package gguf runs a GGUF model inside this process: llama.cpp as a shared library, called through
// yzma without cgo. It owns the library (finding, installing, loading), the file check, tokenization,
// the decode loop with its slots, sampling and the exact numbers: log-probabilities and entropies are
// taken from all logits in float64. The HTTP side of it is package serve.
//
// Two modes. The default is fast: an F16 key-value cache, flash attention where the library likes it,
// prompts in large batches, slots that share a batch. There a token's log-probability differs by up to
// 1e-2 nats between sampling and scoring, for some quantised models by far more. Config.Deterministic
// is for whatever is compared: one thread, an F32 cache, no flash attention, and every token in a batch
// of its own. A token's numbers then depend on the tokens before it and on nothing else, so sampling
// and scoring agree bit by bit whatever runs beside them.
//
// The library needs libffi.so.8 at the start of the program (Debian: libffi8).
package gguf

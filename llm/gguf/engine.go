package gguf

import (
	"errors"
	"fmt"

	"github.com/hybridgroup/yzma/pkg/llama"
)

// engine is a loaded model with its context: the backend that the loop drives.
type engine struct {
	model   llama.Model
	lctx    llama.Context
	mem     llama.Memory
	batch   llama.Batch
	vocab   int
	context int // tokens of one sequence
}

var _ backend = (*engine)(nil)

func newEngine(path string, cfg Config) (*engine, error) {
	mp := llama.ModelDefaultParams()
	// A mapped file that someone rewrites or truncates would change the weights under way, or end
	// the process with SIGBUS; so the weights are read into memory.
	mp.LoadMode = llama.LoadModeNone
	mp.NGpuLayers = 0
	model, err := llama.ModelLoadFromFile(path, mp)
	if err != nil {
		return nil, err
	}
	e := &engine{model: model}
	if err := e.init(cfg); err != nil {
		e.free()
		return nil, err
	}
	return e, nil
}

func (e *engine) init(cfg Config) error {
	if llama.ModelHasEncoder(e.model) || !llama.ModelHasDecoder(e.model) {
		return errors.New("it is no decoder-only language model")
	}
	if llama.ModelIsDiffusion(e.model) {
		return errors.New("it is a diffusion model")
	}
	if most := llama.MaxParallelSequences(); uint64(cfg.Slots) > most {
		return fmt.Errorf("%d slots: the library has at most %d", cfg.Slots, most)
	}
	var err error
	if e.context, err = cfg.contextLength(int(llama.ModelNCtxTrain(e.model))); err != nil {
		return err
	}
	p := llama.ContextDefaultParams()
	p.NCtx = uint32(e.context * cfg.Slots)
	p.NBatch, p.NUbatch = uint32(cfg.BatchTokens), uint32(cfg.BatchTokens)
	p.NSeqMax = uint32(cfg.Slots)
	p.NThreads, p.NThreadsBatch = int32(cfg.Threads), int32(cfg.Threads)
	p.NoPerf = 1
	p.KVUnified = 0 // each sequence has its own cells: no other one changes its arithmetic
	p.SwaFull = 1   // models with a sliding window keep what prefix reuse needs
	p.Offload_kqv, p.OpOffload = 0, 0
	if cfg.Deterministic {
		p.TypeK, p.TypeV = llama.GGMLTypeF32, llama.GGMLTypeF32
		p.FlashAttentionType = llama.FlashAttentionTypeDisabled
	}
	if e.lctx, err = llama.InitFromModel(e.model, p); err != nil {
		return fmt.Errorf("make a context of %d slots with %d tokens each: %w", cfg.Slots, e.context, err)
	}
	if e.mem, err = llama.GetMemory(e.lctx); err != nil {
		return err
	}
	if got := int(llama.NCtxSeq(e.lctx)); got < e.context {
		return fmt.Errorf("the library gives a sequence %d tokens, not %d", got, e.context)
	}
	e.vocab = int(llama.VocabNTokens(llama.ModelGetVocab(e.model)))
	e.batch = llama.BatchInit(int32(cfg.BatchTokens), 0, 1)
	return nil
}

// Decode computes rows; their ids and positions were checked before they came here.
func (e *engine) Decode(rows []row) error {
	if err := e.batch.Clear(); err != nil {
		return err
	}
	seq := make([]llama.SeqId, 1)
	for _, r := range rows {
		seq[0] = llama.SeqId(r.seq)
		if err := e.batch.Add(llama.Token(r.token), llama.Pos(r.pos), seq, r.logits); err != nil {
			return err
		}
	}
	code, err := llama.Decode(e.lctx, e.batch)
	if err != nil {
		return err
	}
	switch code {
	case 0:
		return nil
	case 1:
		return errors.New("the key-value cache is full")
	}
	return withComplaints(fmt.Errorf("llama_decode returned %d", code))
}

// Logits returns the logits after row i, in the library's own memory.
func (e *engine) Logits(i int) []float32 {
	v, err := llama.GetLogitsIth(e.lctx, int32(i), e.vocab)
	if err != nil {
		return nil
	}
	return v
}

// Forget drops positions of a sequence; a model with a recurrent state can only drop all of them.
func (e *engine) Forget(seq int32, from int) bool {
	ok, err := llama.MemorySeqRm(e.mem, llama.SeqId(seq), llama.Pos(from), -1)
	return ok && err == nil
}

func (e *engine) free() {
	if e.batch.Token != nil {
		_ = llama.BatchFree(e.batch) // it has no error to give
	}
	if e.lctx != 0 {
		_ = llama.Free(e.lctx) // errors only for a zero context
	}
	if e.model != 0 {
		_ = llama.ModelFree(e.model) // errors only for a zero model
	}
	*e = engine{}
}

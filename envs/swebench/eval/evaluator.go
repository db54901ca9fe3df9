package eval

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/internal/errext"
)

// Evaluator evaluates patches. It is safe for concurrent use.
type Evaluator struct {
	boxes  Boxes
	config Config
	relax  container.Relax
	pulled sync.Map // names of images that were not here before
}

// Open connects to the daemon and removes what evaluations that died left there. The error wraps
// container.ErrNoDaemon where none answers.
func Open(ctx context.Context, config Config) (*Evaluator, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	engine, err := container.Open(ctx, container.Config{
		Host: config.Host, Owner: config.Owner, Run: config.Name, PullRoom: config.PullRoom, Log: config.Log,
	})
	if err != nil {
		return nil, err
	}
	return New(&engineBoxes{Engine: engine, pool: engine.NewPool(config.Warm), own: true}, config)
}

// WithEngine evaluates in an engine's containers; the engine stays its owner's.
func WithEngine(engine *container.Engine, config Config) (*Evaluator, error) {
	return New(&engineBoxes{Engine: engine, pool: engine.NewPool(config.Warm)}, config)
}

// New makes an evaluator of a source of containers.
func New(boxes Boxes, config Config) (*Evaluator, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	relax, err := container.ParseRelax(config.Relax)
	if err != nil {
		return nil, err
	}
	return &Evaluator{boxes: boxes, config: config.withDefaults(), relax: relax}, nil
}

// Close removes what was started ahead, and ends the connection that Open made.
func (e *Evaluator) Close() error { return e.boxes.Close() }

// Evaluate evaluates one patch and writes nothing. The error is ctx's end, or an instance that cannot be
// evaluated at all (no script); everything else is an Outcome.
func (e *Evaluator) Evaluate(ctx context.Context, in *swebench.Instance, p swebench.Prediction) (Outcome, error) {
	j, err := e.prepare(in, p, 1)
	if err != nil {
		return Outcome{}, err
	}
	t, err := e.run(ctx, j)
	return t.Outcome, err
}

// job is one patch to be evaluated once.
type job struct {
	in     *swebench.Instance
	pred   swebench.Prediction
	repeat int
	script string
	images []string
	key    string
}

func (e *Evaluator) prepare(in *swebench.Instance, p swebench.Prediction, repeat int) (*job, error) {
	script, err := swebench.EvalScript(in, e.config.Release)
	if err != nil {
		return nil, err
	}
	images, err := swebench.Images(in, e.config.Images)
	if err != nil {
		return nil, fmt.Errorf("evaluate %s: %w", in.ID, err)
	}
	options := fmt.Sprintf("%s %d %+v %q", e.config.Release, e.config.MaxPatch, e.config.Limits, e.relax.Names())
	return &job{
		in: in, pred: p, repeat: repeat, script: script, images: images,
		key: swebench.CacheKey(p, script, fmt.Sprintf("%q", images), options),
	}, nil
}

func (j *job) outcome(kind Kind, detail string) Outcome {
	return Outcome{InstanceID: j.in.ID, Model: j.pred.Model, Repeat: j.repeat, Kind: kind, Detail: detail}
}

// refuse is the outcome of a patch that needs no container; false for all others.
func (e *Evaluator) refuse(j *job) (Outcome, bool) {
	switch {
	case j.pred.Empty():
		return j.outcome(EmptyPatch, ""), true
	case len(j.pred.Patch) > e.config.MaxPatch:
		return j.outcome(LargePatch, fmt.Sprintf("%d bytes, %d are allowed", len(j.pred.Patch), e.config.MaxPatch)), true
	}
	if p := unsafePath(j.pred.Patch); p != "" {
		return j.outcome(UnsafePatch, fmt.Sprintf("it names %q", p)), true
	}
	return Outcome{}, false
}

// run evaluates a job in as many containers as infrastructure failures make necessary. The error is
// ctx's end.
func (e *Evaluator) run(ctx context.Context, j *job) (*trial, error) {
	if o, refused := e.refuse(j); refused {
		return &trial{Outcome: o}, nil
	}
	pause := e.config.Pause
	for try := 1; ; try++ {
		t, err := e.once(ctx, j)
		t.Tries = try
		switch {
		case err == nil:
			return t, nil
		case ctx.Err() != nil:
			return t, ctx.Err()
		}
		e.config.Log.Info("evaluation failed by the machine", "instance", j.in.ID, "try", try, "error", err)
		t.Kind, t.Detail, t.Err = Infrastructure, err.Error(), err
		if try > e.config.Retries || !retryable(err) {
			return t, nil
		}
		if err := sleep(ctx, pause); err != nil {
			return t, err
		}
		pause = min(2*pause, maxPause)
	}
}

// retryable reports whether another try can help: a failure says so; an error that nobody typed is
// tried again too.
func retryable(err error) bool {
	var f *harness.Failure
	return !errors.As(err, &f) || f.Retryable
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// spec is the container that a job needs.
func (e *Evaluator) spec(j *job, image string) container.Spec {
	return container.Spec{
		Image: image, Prefix: swebench.ContainerName(j.in.ID, e.config.Name), WorkDir: swebench.WorkDir,
		Limits: e.config.Limits, Relax: e.relax,
	}
}

// find returns the image of a job, and notes whether it had to be pulled.
func (e *Evaluator) find(ctx context.Context, j *job) (name, id string, err error) {
	here := false
	for _, name := range j.images {
		if id, err = e.boxes.ImageID(ctx, name); err != nil {
			return "", "", err
		}
		here = here || id != ""
	}
	if name, err = e.boxes.Find(ctx, j.images); err != nil {
		if errors.Is(err, container.ErrNoImage) && strings.HasPrefix(j.in.Image, swebench.EmbeddedImages) {
			err = errext.WithHint(err, "build it: harness swebench images")
		}
		return "", "", err
	}
	if !here {
		e.pulled.Store(name, true)
	}
	id, err = e.boxes.ImageID(ctx, name)
	return name, id, err
}

// forget removes those of a job's images that were pulled, and returns the ones that would not go.
func (e *Evaluator) forget(ctx context.Context, j *job) (left []string) {
	for _, name := range j.images {
		if _, pulled := e.pulled.LoadAndDelete(name); !pulled {
			continue
		}
		if err := e.boxes.RemoveImage(ctx, name); err != nil {
			e.config.Log.Warn("an image could not be removed", "image", name, "error", err)
			left = append(left, name)
		}
	}
	return left
}

// warm starts a container for a job that comes soon, where its image is here.
func (e *Evaluator) warm(ctx context.Context, j *job) {
	if _, refused := e.refuse(j); refused {
		return
	}
	for _, name := range j.images {
		id, err := e.boxes.ImageID(ctx, name)
		if err != nil {
			return // whoever takes the container is told
		}
		if id != "" {
			e.boxes.Warm(e.spec(j, name))
			return
		}
	}
}

package store

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/hindsightrl/harness"
)

// Artifact keeps an artifact of an open attempt, in the place of an earlier one of that name. Contents are
// kept byte for byte; more than 64 MiB is an error. It returns once durable. It implements
// agent.ArtifactRecorder.
func (r *Recorder) Artifact(ctx context.Context, attempt int64, x harness.Artifact) error {
	op := fmt.Sprintf("keep artifact %q of attempt %d", x.Name, attempt)
	a, err := r.s.attempt(attempt)
	if err != nil {
		return failure(op, err)
	}
	switch err := plain("artifact name", x.Name); {
	case err != nil:
		return failure(op, err)
	case x.Name == "":
		return failure(op, errors.New("the artifact has no name"))
	case len(x.Content) > maxBlob:
		return failure(op, fmt.Errorf("it has %d bytes, %d are allowed", len(x.Content), maxBlob))
	}
	blob := frame([]byte(x.Content), nil)
	return failure(op, a.do(ctx, r.s.w, func(c *conn) error {
		if err := a.closable(c); err != nil {
			return err
		}
		_, err := c.exec(`INSERT INTO artifacts (attempt_id, name, content) VALUES (?, ?, ?)
			ON CONFLICT (attempt_id, name) DO UPDATE SET content = excluded.content`, a.id, x.Name, blob)
		return err
	}))
}

// Artifacts streams what an attempt left, in the order in which it was kept first.
func (s *Store) Artifacts(ctx context.Context, attempt int64) iter.Seq2[harness.Artifact, error] {
	return query(ctx, s.db, fmt.Sprintf("read artifacts of attempt %d", attempt),
		"SELECT name, content FROM artifacts WHERE attempt_id = ? ORDER BY id", []any{attempt},
		func(scan func(...any) error) (x harness.Artifact, err error) {
			var blob []byte
			if err := scan(&x.Name, &blob); err != nil {
				return x, err
			}
			content, err := unframe(blob, nil)
			x.Content = string(content)
			return x, err
		})
}

// Artifact reads one artifact of an attempt. ErrNotFound where it left none of that name.
func (s *Store) Artifact(ctx context.Context, attempt int64, name string) (harness.Artifact, error) {
	for x, err := range s.Artifacts(ctx, attempt) {
		switch {
		case err != nil:
			return harness.Artifact{}, err
		case x.Name == name:
			return x, nil
		}
	}
	return harness.Artifact{}, fmt.Errorf("artifact %q of attempt %d: %w", name, attempt, ErrNotFound)
}

// artifacts decodes every artifact.
func (c *checker) artifacts() error {
	type row struct {
		id   int64
		blob []byte
	}
	for r, err := range query(c.ctx, c.q, "check artifacts", "SELECT id, content FROM artifacts", nil, func(scan func(...any) error) (r row, err error) {
		err = scan(&r.id, &r.blob)
		return r, err
	}) {
		if err != nil {
			return err
		}
		if _, err := unframe(r.blob, nil); err != nil {
			c.add("artifacts", r.id, false, "content: %v", err)
		}
	}
	return nil
}

package gen

import (
	"fmt"
	"strings"
)

// Generate makes cfg.Count games, the ones numbered [cfg.First, cfg.First+cfg.Count) of the endless
// sequence that the seed, the split and the configured types and rooms define. The same arguments
// give the same bytes on every machine. Each game is solvable, by its walkthrough among others, and
// not solved at the start.
//
// An error names what the configuration asks for and cannot have; see Config.Validate.
func Generate(seed uint64, cfg Config) ([]Game, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("generate games: %w", err)
	}
	cfg = cfg.withDefaults()
	games := make([]Game, cfg.Count)
	for i := range games {
		index := cfg.First + i
		task, room := cfg.pick(index)
		g, err := newGame(seed, cfg.Split, index, task, room)
		if err != nil {
			return nil, fmt.Errorf("generate game %d of seed %d: %w", index, seed, err)
		}
		games[i] = g
	}
	return games, nil
}

// maxPlans is how many floor plans are tried for a game before it is given up. A plan may lack what
// the task needs (a room with one kind of furniture that takes pillows has nowhere to bring them),
// but most have it.
const maxPlans = 50

// newGame makes one game.
func newGame(seed uint64, split string, index int, task TaskType, room Room) (Game, error) {
	rng := stream("game", seed, split, index, task, room)
	var last error
	for range maxPlans {
		plan := drawPlan(rng, room, split)
		s, g, err := setScene(rng, task, newLayout(room, plan))
		if err != nil {
			last = err
			continue
		}
		walkthrough, err := solve(s, g, newNames(s))
		if err != nil {
			return Game{}, err
		}
		trial := fmt.Sprintf("trial_T%016x_%05d", seed, index)
		return Game{
			Split: split, Task: task, Room: room, Plan: plan,
			Name: folder(g, plan), Trial: trial,
			Sentence: sentence(rng, g),
			Target:   g.what.name, Destination: g.where.name, Lamp: g.lamp.name,
			Problem:     problem(strings.ToLower("plan_"+trial), s, g),
			Walkthrough: walkthrough,
		}, nil
	}
	return Game{}, last
}

// folder is the task folder's name: task, thing, the movable vessel (never one here), where it goes or
// by which lamp it is looked at, and the room.
func folder(g goal, plan int) string {
	end := g.where.name
	if g.task == Look {
		end = g.lamp.name
	}
	return fmt.Sprintf("%s-%s-None-%s-%d", g.task, g.what.name, end, plan)
}

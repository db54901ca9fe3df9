package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/envs/alfworld/gen"
)

func newEnvGenerate(g *globals) *cobra.Command {
	var (
		seed uint64
		out  string
		cfg  gen.Config

		types, rooms []string
	)
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Write new games in ALFWorld's format, every one solvable",
		Example: `  harness env generate --out games --split train --count 500 --seed 1
  harness rollout --data games --split train`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return usageError(cmd, errors.New("where to? give --out DIR"))
			}
			for _, t := range types {
				cfg.Types = append(cfg.Types, gen.TaskType(t))
			}
			for _, r := range rooms {
				cfg.Rooms = append(cfg.Rooms, gen.Room(r))
			}
			if err := cfg.Validate(); err != nil {
				return usageError(cmd, err)
			}
			games, err := gen.Generate(seed, cfg)
			if err != nil {
				return err
			}
			if err := gen.Write(out, games); err != nil {
				return err
			}
			fmt.Fprintf(g.stderr, "%s in %s; play them with: harness rollout --data %s --split %s\n", plural(len(games), "game"), out, out, cfg.Split)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&out, "out", "", "folder to write json_2.1.1 into")
	f.Uint64Var(&seed, "seed", 1, "equal seeds give equal games")
	f.StringVar(&cfg.Split, "split", "train", "split of the games: train, valid_seen or valid_unseen")
	f.IntVar(&cfg.Count, "count", 24, "number of games")
	f.StringSliceVar(&types, "types", nil, "task types (default: all six)")
	f.StringSliceVar(&rooms, "rooms", nil, "kinds of room: kitchen, bathroom, bedroom, livingroom (default: all)")
	return cmd
}

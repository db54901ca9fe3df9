#!/usr/bin/env python3
"""Record what the original ALFWorld answers, as JSON lines, for comparison with the native engine.

Needs an environment where the original runs:  pip install alfworld==0.4.2

    scripts/alfworld_transcripts.py --data DIR --out played.jsonl.gz [--assets NAME] [--seed N] ...

DIR holds <split>/<task>/<trial>/game.tw-pddl (a json_2.1.1 folder). A line {"game", "assets"} opens a
game; then follows one line per step: {"episode", "step", "action", "observation",
"admissible_commands", "won", "score", "done"}, where the action is null at the reset. There is no
step limit, and steps go on after the game is won. Episodes of a game:

    walkthrough  the game's own walkthrough (or a plan of the original's planner), then --after steps
    random       --steps commands: admissible ones (a verb is drawn first, so that rare verbs are not
                 drowned by the many places to go to), stale ones, and ill-formed ones

A game that the original cannot load or play is reported and left out.
"""

import argparse
import gzip
import io
import json
import os
import random
import sys
import time
import zlib

import textworld
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler


def find_games(data, pattern):
    """The game folders under data whose path holds pattern, relative and sorted."""
    found = []
    for root, _, files in os.walk(data):
        if "game.tw-pddl" in files:
            rel = os.path.relpath(root, data)
            if pattern in rel:
                found.append(rel)
    return sorted(found)


def sample(games, count, rng):
    """At most count games, spread evenly over the task types (the name's part before the first '-')."""
    if count <= 0 or count >= len(games):
        return games
    by_type = {}
    for g in games:
        by_type.setdefault(g.split(os.sep)[-2].split("-")[0], []).append(g)
    for group in by_type.values():
        rng.shuffle(group)
    picked = []
    while len(picked) < count:
        for kind in sorted(by_type):
            if by_type[kind] and len(picked) < count:
                picked.append(by_type[kind].pop())
    return sorted(picked)


def open_game(path):
    """The original's environment for one game, with the names that ALFWorld gives to things."""
    infos = textworld.EnvInfos(won=True, admissible_commands=True, extras=["walkthrough"])
    return textworld.start(path, infos, wrappers=[AlfredDemangler(shuffle=False)])


class Recorder:
    """Plays episodes of one game and writes their lines."""

    def __init__(self, env, out):
        self.env, self.out = env, out
        self.episode, self.step, self.state = "", 0, None

    def reset(self, episode):
        self.episode, self.step = episode, 0
        self.state = self.env.reset()
        self.write(None, 0, False)

    def act(self, action):
        self.step += 1
        self.state, score, done = self.env.step(action)
        self.write(action, score, done)

    def write(self, action, score, done):
        put(self.out, {
            "episode": self.episode, "step": self.step, "action": action,
            "observation": self.state.feedback,
            "admissible_commands": self.state.admissible_commands,
            "won": bool(self.state.won), "score": score, "done": bool(done),
        })


def put(out, value):
    out.write(json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n")


def spoil(command, rng):
    """A variant of command; most of them are no command of the game."""
    words = command.split(" ")
    variants = [
        command.upper(), command + ".", "  " + command + "\t", command.replace(" ", "  ", 1),
        words[0], " ".join(words[:-1]), command + " 1", "", " ", "dance", "go to nowhere 1",
        command.replace("move ", "put ").replace(" to ", " in/on "),
        command.replace("take ", "pick up "), "help me", "go to loc 1", "examine agent1",
    ]
    return rng.choice(variants)


def draw(admissible, stale, rng):
    """The next random command."""
    roll = rng.random()
    if roll < 0.08:
        return spoil(rng.choice(admissible), rng)
    if roll < 0.16 and stale:
        return rng.choice(stale)
    verbs = sorted({c.split(" ")[0] for c in admissible})
    verb = rng.choice(verbs)
    return rng.choice([c for c in admissible if c.split(" ")[0] == verb])


def play_random(rec, steps, rng):
    stale = []
    for _ in range(steps):
        admissible = rec.state.admissible_commands
        action = draw(admissible, stale, rng)
        stale = sorted(set(stale) | set(admissible))
        rec.act(action)


def record(data, game, assets, out, args):
    rng = random.Random(zlib.crc32(f"{args.seed}/{game}".encode()))
    env = open_game(os.path.join(data, game, "game.tw-pddl"))
    try:
        rec = Recorder(env, out)
        put(out, {"game": game.replace(os.sep, "/"), "assets": assets})
        if "walkthrough" in args.episodes:
            rec.reset("walkthrough")
            for action in list(rec.state["extra.walkthrough"]):
                rec.act(action)
            if not rec.state.won:
                raise RuntimeError("the walkthrough does not win")
            play_random(rec, args.after, rng)
        if "random" in args.episodes:
            rec.reset("random")
            play_random(rec, args.steps, rng)
    finally:
        env.close()


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--data", required=True, help="folder that holds <split>/<task>/<trial>/game.tw-pddl")
    ap.add_argument("--out", required=True, help="file to write; .gz compresses")
    ap.add_argument("--assets", default="", help="version of the game files, written into the opening lines")
    ap.add_argument("--match", default="", help="only games whose path holds this text")
    ap.add_argument("--games", type=int, default=0, help="at most so many games, spread over the task types; 0 = all")
    ap.add_argument("--steps", type=int, default=30, help="commands of a random episode")
    ap.add_argument("--after", type=int, default=3, help="random commands after a walkthrough")
    ap.add_argument("--episodes", nargs="+", default=["walkthrough", "random"], choices=["walkthrough", "random"])
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--skip", nargs="*", default=[], help="transcripts whose games are left out")
    args = ap.parse_args()

    known = set()
    for path in args.skip:
        opener = gzip.open if path.endswith(".gz") else open
        with opener(path, "rt") as f:
            known |= {v["game"] for v in map(json.loads, f) if "game" in v}
    games = [g for g in find_games(args.data, args.match) if g.replace(os.sep, "/") not in known]
    games = sample(games, args.games, random.Random(args.seed))
    if not games:
        sys.exit(f"no games under {args.data}")

    failed = 0
    opener = gzip.open if args.out.endswith(".gz") else open
    with opener(args.out, "wt") as out:
        for i, game in enumerate(games, 1):
            start, text = time.monotonic(), io.StringIO()
            try:
                record(args.data, game, args.assets, text, args)
            except Exception as err:  # the original raises anything; the other games still count
                failed += 1
                print(f"{i}/{len(games)} {game}: {type(err).__name__}: {err}", file=sys.stderr)
                continue
            out.write(text.getvalue())
            out.flush()
            print(f"{i}/{len(games)} {game}: {time.monotonic() - start:.1f} s", file=sys.stderr)
    if failed:
        sys.exit(f"{failed} of {len(games)} games could not be recorded")


if __name__ == "__main__":
    main()

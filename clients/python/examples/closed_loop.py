"""The whole loop on one machine: play, credit, feed, update, reload, again. With ``--control`` everything is
the same, but the updates get shuffled advantages; what only the signal can do must then not happen.

    python closed_loop.py --gguf stories260K.gguf --work loop

Prints a JSON line per update. ``valid`` (responses) and ``won`` (episodes) are shares of what the update learned from;
``rewarded`` and ``punished`` are mean log-probabilities (nats) of the action tokens of one fixed batch, played by
the first policy and never trained on, in rows with positive and with negative advantages. The start and the
fixed batch are made once per folder; all else that is random comes from ``--seed``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import trainer as t
import warmup
from harness import Harness, rows_of, server
from hindsight_client import Feed, PolicyServer, Row

HERE = Path(__file__).resolve().parent
END = 2  # the token that ends a response in Llama's vocabularies


@dataclass(frozen=True)
class Loop:
    """What is played and how long."""

    command: str = "harness"
    split: str = "train"
    tasks: int = 8
    group: int = 8
    held_out: int = 64  # episodes per game in the fixed batch
    max_steps: int = 8
    max_tokens: int = 56
    updates: int = 10
    warmup: int = 30  # epochs of imitation
    seed: int = 0
    control: bool = False
    serl: str = ""  # mode of the teacher pass; "" = no teacher
    lr: float = 5e-5

    def play(self, h: Harness, name: str, seed: int, group: int, *policy: str) -> None:
        """A run of the loop's games."""
        h.call(
            "rollout", "--name", name, "--env", "alfworld", "--split", self.split, "--tasks", str(self.tasks), "--group", str(group),
            "--max-steps", str(self.max_steps), "--max-tokens", str(self.max_tokens), "--seed", str(seed),
            "--templates", str(HERE / "prompts.yaml"), "--history", "0", "--quiet", *policy,
        )

    def sample(self, h: Harness, name: str, seed: int, group: int, url: str) -> None:
        """A run of the served policy. Each token names the weights that it came from."""
        self.play(h, name, seed, group, "--policy", f"vllm:{url}", "--route", "tokens", "--logprob-mode", "raw", "--top-logprobs", "0")


def start(loop: Loop, gguf: Path, work: Path) -> Path:
    """The first policy: the file's weights after imitating the scripted player, who errs in two of ten
    steps. Made once per folder."""
    out = work / "start.gguf"
    if not out.exists():
        h = Harness(loop.command, work / "demonstrations.db")
        replace(loop, max_steps=12).play(h, "demonstrations", 0, loop.group, "--policy", "expert:0.2")
        with server(loop.command, "model", "serve", "--gguf", str(gguf), "--deterministic") as address:
            rows = warmup.demonstrations(h, f"http://{address}", range(1, loop.tasks * loop.group + 1), END)
        warmup.imitate(gguf, rows, out, epochs=loop.warmup, lr=3e-3)
    return out


def held_out(loop: Loop, first: Path, work: Path) -> list[Row]:
    """The fixed batch, played by the first policy. Made once per folder."""
    out = work / "held-out.jsonl"
    h = Harness(loop.command, work / "held-out.db")
    if not out.exists():
        with server(loop.command, "model", "serve", "--gguf", str(first), "--deterministic") as address:
            loop.sample(h, "held-out", 1_000_000, loop.held_out, f"http://{address}")
        credit(h, "held-out", first, "")
        out.write_text(h.export("held-out"))
    return rows_of(out.read_text())


def judged(rows: Sequence[Row]) -> list[Row]:
    """The rows to measure: all that are rewarded, and as many that are punished, evenly spread. A response that spells
    no text has no known action and is left out."""
    known = [r for r in rows if r.action_mask is not None and r.base_advantage]
    up = [r for r in known if float(r.base_advantage or 0) > 0]
    down = [r for r in known if float(r.base_advantage or 0) < 0]
    return up + down[:: max(1, len(down) // max(1, len(up)))]


def measure(model: t.Trainer, rows: Sequence[Row]) -> dict[str, float]:
    """Mean log-probabilities of the action tokens of judged rows under the present weights."""
    tokens: dict[str, list[torch.Tensor]] = {"rewarded": [], "punished": []}
    for r, live in zip(rows, model.logprobs(rows)):
        tokens["rewarded" if float(r.need("base_advantage")) > 0 else "punished"].append(live[torch.tensor(r.action_mask).bool()])
    return {name: float(torch.cat(parts).mean()) if parts else float("nan") for name, parts in tokens.items()}


def outcome(rows: Sequence[Row]) -> dict[str, float]:
    """The share of responses that keep the format, and of episodes that were won."""
    last = {r.episode: r for r in sorted(rows, key=lambda r: r.step)}.values()
    return {"valid": sum(r.reward_parts["valid"] for r in rows) / len(rows), "won": sum(r.reward_parts["won"] for r in last) / len(last)}


def run(loop: Loop, gguf: Path, work: Path) -> Iterator[dict[str, Any]]:
    """The loop; yields what each update did. Update 0 is the start."""
    torch.set_num_threads(1)  # sums in one order: equal seeds give equal numbers
    first = start(loop, gguf, work)
    played = held_out(loop, first, work)
    fixed = judged(played)
    arm = work / f"{'control' if loop.control else 'signal'}-{loop.seed}"
    arm.mkdir()
    h = Harness(loop.command, arm / "ledger.db")
    learner = t.Trainer(first, t.Settings(lr=loop.lr, serl=bool(loop.serl), shuffle=loop.control, seed=loop.seed))
    with server(loop.command, "model", "serve", "--gguf", str(first), "--deterministic") as address:
        policy = PolicyServer(f"http://{address}")
        yield {"version": 0, **outcome(played), **measure(learner, fixed)}
        for n in range(1, loop.updates + 1):
            name = f"update-{n}"
            loop.sample(h, name, 1000 * loop.seed + n, loop.group, policy.url)
            credit(h, name, first, loop.serl)
            with server(loop.command, "serve", "--db", str(h.db), "--run", name, "--loss", "ppo") as feed_address:
                with Feed(f"ws://{feed_address}", consumer="closed-loop") as feed:
                    for batch, stats in t.train(learner, feed, policy, arm, groups=loop.tasks, updates=0):
                        yield {**stats, **outcome(batch.rows), **measure(learner, fixed)}


def credit(h: Harness, run: str, teacher: Path, mode: str) -> None:
    """GRPO, or with a mode SERL over it. The teacher is the first policy."""
    config = ("--config", str(HERE / ("credit_serl.yaml" if mode else "credit.yaml")))
    if mode:
        h.call("score", "--run", run, "--mode", mode, "--teacher", f"gguf:{teacher}", "--deterministic", "--quiet")
        config = (*config, "--score", mode)
    h.call("credit", "--run", run, *config)


def main() -> None:
    """Run as a program."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--gguf", type=Path, required=True, help="a model of Llama's kind, for example stories260K.gguf")
    p.add_argument("--work", type=Path, required=True, help="folder for the ledger and the weights")
    p.add_argument("--harness", default=Loop.command, help="the command")
    p.add_argument("--updates", type=int, default=Loop.updates)
    p.add_argument("--warmup", type=int, default=Loop.warmup, help="epochs of imitation before the loop")
    p.add_argument("--tasks", type=int, default=Loop.tasks)
    p.add_argument("--group", type=int, default=Loop.group)
    p.add_argument("--max-steps", type=int, default=Loop.max_steps)
    p.add_argument("--lr", type=float, default=Loop.lr)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--control", action="store_true", help="shuffle the advantages of each batch")
    p.add_argument("--serl", default="", metavar="MODE", help="weigh action tokens by a hindsight teacher, exactly, for example immediate_feedback")
    a = p.parse_args()
    a.work.mkdir(parents=True, exist_ok=True)
    loop = Loop(
        command=a.harness, updates=a.updates, warmup=a.warmup, tasks=a.tasks, group=a.group, max_steps=a.max_steps, seed=a.seed,
        control=a.control, serl=a.serl, lr=a.lr,
    )
    for line in run(loop, a.gguf.resolve(), a.work.resolve()):
        print(json.dumps({k: round(v, 5) if isinstance(v, float) else v for k, v in line.items()}), flush=True)


if __name__ == "__main__":
    main()

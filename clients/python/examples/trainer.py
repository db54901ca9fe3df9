"""The reference trainer: leases batches from a Hindsight feed, takes PPO steps on them, hands the new weights
back to the policy server and says so in the feed.

    harness model serve --gguf policy.gguf            # the policy, at http://127.0.0.1:8000
    harness serve --run nightly --loss ppo            # the feed, at ws://127.0.0.1:7741
    python trainer.py --gguf policy.gguf --out weights

It is meant to be read. Everything fits on one machine without a graphics card, for models as small as
stories260K; what a larger trainer does differently is said in docs/training.md.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import llama
import loss
import torch
from hindsight_client import Batch, Feed, LeaseClosed, PolicyServer, Row
from torch import Tensor


@dataclass(frozen=True)
class Settings:
    """What decides an update. A clip range in the batch's header (``harness serve --loss``) goes before."""

    lr: float = 2e-4
    epochs: int = 1  # passes over a batch
    steps: int = 2  # optimiser steps per pass
    clip_low: float = 0.2
    clip_high: float = 0.2
    grad_norm: float = 1.0
    micro_tokens: int = 8192  # tokens of a forward pass, padding included
    serl: bool = False  # recompute SERL's weights from the live policy
    shuffle: bool = False  # the control: each row gets the advantages of another row
    seed: int = 0


@dataclass
class Micro:
    """Some rows as tensors, one row per sequence: prompt, response, padding. All but ``ids`` (B, N) are
    (B, N-1), over the tokens from the second on, and zero outside the response."""

    rows: list[Row]
    ids: Tensor
    mask: Tensor  # 1 on response tokens
    columns: dict[str, Tensor] = field(default_factory=dict)


def collate(rows: Sequence[Row], names: Sequence[str]) -> Micro:
    """Rows to tensors; names are columns of T numbers."""
    width = max(len(r.need("prompt_ids")) + r.tokens for r in rows)
    m = Micro(list(rows), torch.zeros(len(rows), width, dtype=torch.long), torch.zeros(len(rows), width - 1))
    m.columns = {name: torch.zeros(len(rows), width - 1) for name in names}
    for i, r in enumerate(rows):
        p, t = len(r.need("prompt_ids")), r.tokens
        m.ids[i, :p] = torch.tensor(r.need("prompt_ids"))
        m.ids[i, p : p + t] = torch.tensor(r.need("response_ids"))
        m.mask[i, p - 1 : p - 1 + t] = torch.tensor(r.need("response_mask"), dtype=torch.float32)
        for name in names:
            m.columns[name][i, p - 1 : p - 1 + t] = torch.tensor(r.need(name), dtype=torch.float32)
    return m


def micro_batches(rows: Sequence[Row], tokens: int) -> Iterator[list[Row]]:
    """Rows of like length together, each part within ``tokens`` with its padding."""
    part: list[Row] = []
    for r in sorted(rows, key=lambda r: len(r.need("prompt_ids")) + r.tokens):
        if part and (len(part) + 1) * (len(r.need("prompt_ids")) + r.tokens) > tokens:
            yield part
            part = []
        part.append(r)
    if part:
        yield part


class Trainer:
    """A policy with its optimiser."""

    def __init__(self, path: str | Path, settings: Settings = Settings()) -> None:
        self.path = Path(path)
        self.s = settings
        self.model = llama.load(path)
        self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=settings.lr, weight_decay=0.0, betas=(0.9, 0.95))
        self.random = torch.Generator().manual_seed(settings.seed)

    def update(self, batch: Batch) -> dict[str, float]:
        """Take the optimiser steps of one batch and say what happened. Rows without tokens are left out."""
        rows = [r for r in batch.rows if r.tokens]
        if any(r.temperature != 1 for r in rows):
            raise ValueError("the rollouts were sampled at a temperature that is not 1: their ratios would be wrong")
        dealt = self._deal(rows)
        before = self.logprobs(rows)
        drift = max(float((lp - torch.tensor(r.need("logprobs"))).abs().max()) for lp, r in zip(before, rows))
        losses: list[float] = []
        for _ in range(self.s.epochs):
            order = torch.randperm(len(rows), generator=self.random).tolist()
            for k in range(self.s.steps):
                losses.append(self._step([dealt[i] for i in order[k :: self.s.steps]], batch.header))
        return {"rows": len(rows), "tokens": batch.tokens, "loss": sum(losses) / len(losses), "drift": drift}

    def logprobs(self, rows: Sequence[Row]) -> list[Tensor]:
        """Log-probabilities of each row's response under the present weights, in the order of rows."""
        found: dict[int, Tensor] = {}
        with torch.no_grad():
            for part in micro_batches(rows, self.s.micro_tokens):
                m = collate(part, [])
                live = self.model.logprobs(m.ids)
                for r, lp in zip(part, live):
                    p = len(r.need("prompt_ids"))
                    found[id(r)] = lp[p - 1 : p - 1 + r.tokens].clone()
        return [found[id(r)] for r in rows]

    def save(self, path: str | Path, **about: Any) -> Path:
        """Write the weights as GGUF, the optimiser beside them, and what a restart must know."""
        llama.save(self.model, self.path, path)
        torch.save({"optimiser": self.optimiser.state_dict(), "random": self.random.get_state(), "about": about}, f"{path}.pt")
        return Path(path)

    def restore(self, path: str | Path) -> dict[str, Any]:
        """Go on from what save wrote; returns what it was told."""
        self.model.load_state_dict(llama.load(path).state_dict())
        state = torch.load(f"{path}.pt", weights_only=True)
        self.optimiser.load_state_dict(state["optimiser"])
        self.random.set_state(state["random"])
        told: dict[str, Any] = state["about"]
        return told

    def _deal(self, rows: list[Row]) -> list[tuple[Row, float]]:
        """Each row with the factor that its advantages are multiplied by: 1, or in the control what makes
        their mean that of a row of its group that is drawn by lot. Each advantage is dealt once, so that
        the group's still sum to 0: otherwise all that was said would become more likely, or less."""
        if not self.s.shuffle:
            return [(r, 1.0) for r in rows]
        means = [float(r.need("advantages").mean()) for r in rows]
        groups: dict[int, list[int]] = {}
        for i, r in enumerate(rows):
            groups.setdefault(r.group, []).append(i)
        dealt = [0.0] * len(rows)
        for of in groups.values():
            for i, k in zip(of, torch.randperm(len(of), generator=self.random).tolist()):
                dealt[i] = means[of[k]] / means[i] if means[i] else 0.0
        return list(zip(rows, dealt))

    def _step(self, dealt: list[tuple[Row, float]], header: dict[str, Any]) -> float:
        """One optimiser step: the mean over all response tokens of the rows. Rows without advantage count
        in the mean and are not computed: their loss and its gradient are 0."""
        factor = {id(r): f for r, f in dealt}
        total = sum(float(r.need("response_mask").sum()) for r, _ in dealt)
        sum_loss = 0.0
        self.optimiser.zero_grad()
        for part in micro_batches([r for r, f in dealt if f and r.need("advantages").any()], self.s.micro_tokens):
            value = self._loss(part, torch.tensor([[factor[id(r)]] for r in part]), header) / total
            value.backward()
            sum_loss += value.item()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.s.grad_norm)
        self.optimiser.step()
        return sum_loss

    def _loss(self, rows: list[Row], factor: Tensor, header: dict[str, Any]) -> Tensor:
        hints = header.get("hints") or {}
        if hints.get("ratio", "token") != "token":
            raise ValueError("the feed asks for sequence ratios; this trainer has token ratios")
        m = collate(rows, ["logprobs", "advantages"])
        live = self.model.logprobs(m.ids)
        advantages = self._serl(rows, live, header) if self.s.serl else m.columns["advantages"]
        per_token = loss.ppo_clip(
            live, m.columns["logprobs"], advantages * factor,
            hints.get("clip_low", self.s.clip_low), hints.get("clip_high", self.s.clip_high),
        )
        return (per_token * m.mask).sum()

    def _serl(self, rows: list[Row], live: Tensor, header: dict[str, Any]) -> Tensor:
        """The token advantages that the feed's would be had it known the live policy."""
        if header.get("token") != "serl":
            raise ValueError("the feed's credit has no SERL stage: harness credit --score MODE")
        base = torch.tensor([[float(r.base_advantage or 0) * float(r.factor or 1)] for r in rows])
        scored = [r if r.context_mask else None for r in rows]
        teacher, mask = torch.zeros_like(live), torch.zeros_like(live, dtype=torch.bool)
        for i, r in enumerate(scored):
            if r is not None:
                p = len(r.need("prompt_ids")) - 1
                teacher[i, p : p + r.tokens] = torch.tensor(r.need("teacher_logprobs"))
                mask[i, p : p + r.tokens] = torch.tensor(r.need("action_mask")).bool()
        return loss.serl_advantages(base, live, teacher, mask, float(header["lambda"]), float(header["serl"]["clip"]))


def resume(trainer: Trainer, feed: Feed, policy: PolicyServer, out: Path) -> dict[str, Any] | None:
    """Go on from the newest weights in ``out``, if there are any, and finish what train had begun when it
    died. Where the lease that they contain ran out meanwhile, its groups were handed out again: weights
    that learned from them would learn twice, so those before them are taken."""
    saved = {int(p.name[len("policy-") : -len(".gguf.pt")]): p.with_suffix("") for p in out.glob("policy-*.gguf.pt")}
    for version, weights in sorted(saved.items(), reverse=True):
        try:
            feed.ack(about(weights)["lease"])
        except LeaseClosed:
            continue
        trainer.restore(weights)
        if int(policy.version()) < version:
            policy.load(weights, version)
        if feed.version() < version:
            feed.post_version(version)
        return {"version": version, "resumed": str(weights)}
    return None


def about(path: str | Path) -> dict[str, Any]:
    """What Trainer.save was told of these weights."""
    told: dict[str, Any] = torch.load(f"{path}.pt", weights_only=True)["about"]
    return told


def train(trainer: Trainer, feed: Feed, policy: PolicyServer, out: Path, groups: int, updates: int) -> Iterator[tuple[Batch, dict[str, Any]]]:
    """Updates until the feed is drained or so many are done. The order makes each batch count once even if
    the process dies in between: the weights know the lease that they contain (see docs/feed.md)."""
    for done, batch in enumerate(feed.batches(groups=groups), start=1):
        version = int(policy.version()) + 1
        stats = trainer.update(batch)
        weights = trainer.save(out / f"policy-{version}.gguf", lease=batch.lease, version=version)
        batch.ack()
        policy.load(weights, version)
        feed.post_version(version)
        yield batch, {"version": version, **stats}
        if done == updates:
            return


def main() -> None:
    """Run as a program; prints a JSON line per update."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--gguf", required=True, help="the weights to start from, and the metadata of those that are written")
    p.add_argument("--out", default="weights", help="folder for the weights of each version")
    p.add_argument("--feed", default="ws://127.0.0.1:7741")
    p.add_argument("--policy", default="http://127.0.0.1:8000", help="the server that serves the weights")
    p.add_argument("--groups", type=int, default=8, help="groups per update")
    p.add_argument("--updates", type=int, default=0, help="end after so many; 0 = when the feed is drained")
    p.add_argument("--lr", type=float, default=Settings.lr)
    p.add_argument("--serl", action="store_true", help="recompute SERL's weights from the live policy")
    p.add_argument("--seed", type=int, default=0)
    a = p.parse_args()
    out = Path(a.out)
    out.mkdir(parents=True, exist_ok=True)
    trainer = Trainer(a.gguf, Settings(lr=a.lr, serl=a.serl, seed=a.seed))
    token, key = os.environ.get("HARNESS_FEED_TOKEN"), os.environ.get("HARNESS_API_KEY")
    policy = PolicyServer(a.policy, api_key=key)
    with Feed(a.feed, consumer="reference-trainer", token=token) as feed:
        if line := resume(trainer, feed, policy, out):
            print(json.dumps(line), flush=True)
        if lost := feed.lost():  # leased before, and in no weights
            print(json.dumps({"lost": lost}), flush=True)
        for _, line in train(trainer, feed, policy, out, a.groups, a.updates):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()

"""A start for the loop: a model that never saw a household command learns from a scripted player's episodes
what a command looks like, by imitation. Reinforcement needs a policy that wins now and then."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.request import Request, urlopen

import llama
import numpy as np
import torch
from harness import Harness
from hindsight_client import Row
from trainer import collate, micro_batches


def post(url: str, path: str, body: dict[str, object]) -> dict[str, list[int]]:
    """One request to the policy server."""
    request = Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=600) as answer:
        value: dict[str, list[int]] = json.load(answer)
        return value


def demonstrations(h: Harness, url: str, episodes: range, end: int) -> list[Row]:
    """The scripted player's steps as the policy would have written them, in its own tokens. ``end`` is the
    token that ends a response. Equal steps are kept once."""
    rows: dict[str, Row] = {}
    for number in episodes:
        for step in h.episode(number)["steps"]:
            response = f"<think></think><action>{step['action']}</action>"
            prompt = post(url, "/v1/chat/completions/render", {"messages": step["prompt"]})["token_ids"]
            said = post(url, "/tokenize", {"prompt": response, "add_special_tokens": False})["tokens"] + [end]
            rows[json.dumps([prompt, said])] = Row(
                step_id=len(rows), group=0, episode=number, sample=0, step=0, sequence_id=0, task="", stop="", finish="stop", reward_parts={},
                prompt_ids=np.array(prompt, np.int32), response_ids=np.array(said, np.int32), response_mask=np.ones(len(said), np.uint8),
            )
    return list(rows.values())


def imitate(path: Path, rows: list[Row], out: Path, *, epochs: int, lr: float = 2e-3, seed: int = 0) -> list[float]:
    """Maximise the likelihood of the responses; writes the weights and returns the loss (nats per token) of
    each epoch. Rows that do not fit the model's context are left out."""
    model = llama.load(path)
    optimiser = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0, betas=(0.9, 0.95))
    random = torch.Generator().manual_seed(seed)
    fitting = [r for r in rows if len(r.need("prompt_ids")) + r.tokens <= model.c.context]
    parts = list(micro_batches(fitting, 1536))
    curve: list[float] = []
    for epoch in range(epochs):
        for group in optimiser.param_groups:
            group["lr"] = lr * (1 - epoch / epochs)
        losses = []
        for k in torch.randperm(len(parts), generator=random).tolist():
            m = collate(parts[k], [])
            value = -(model.logprobs(m.ids) * m.mask).sum() / m.mask.sum()
            optimiser.zero_grad()
            value.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            losses.append(value.item())
        curve.append(sum(losses) / len(losses))
    llama.save(model, path, out)
    return curve

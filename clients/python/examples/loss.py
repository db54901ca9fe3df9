"""Policy losses over per-token advantages."""

from __future__ import annotations

import torch
from torch import Tensor


def ppo_clip(live: Tensor, behaviour: Tensor, advantages: Tensor, low: float, high: float) -> Tensor:
    """PPO's clipped objective per token, to be minimised. ``live`` and ``behaviour`` are log-probabilities
    (nats) of the sampled tokens under the present weights and under those that sampled them."""
    ratio = torch.exp(live - behaviour)
    return -torch.minimum(ratio * advantages, ratio.clamp(1 - low, 1 + high) * advantages)


def serl_advantages(base: Tensor, live: Tensor, teacher: Tensor, mask: Tensor, strength: float, clip: float) -> Tensor:
    """SERL's token advantages in their exact form: the weights follow the live policy, as in the original,
    where it recomputes them in every micro-batch (arXiv 2605.19447).

    w = clip(exp(clamp(sign(A)·(lpT − lpS), ±20)), 1−c, 1+c); the result is A·((1−λ) + λ·w) on tokens with
    ``mask`` (action tokens of rows with a hindsight context), A elsewhere. ``base`` broadcasts over tokens.
    """
    delta = torch.sign(base) * (teacher - live.detach())
    weight = torch.exp(delta.clamp(-20, 20)).clamp(1 - clip, 1 + clip)
    return base * torch.where(mask, 1 - strength + strength * weight, torch.ones_like(weight))

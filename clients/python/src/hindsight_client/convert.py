"""Batches in the shapes that trainers take. Names are those of each trainer's own source; tensors are
numpy arrays here (``torch.from_numpy`` takes them without copying)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from .rows import Row

_SLIME_STATUS = {"length": "truncated", "abort": "aborted"}


def _pad(
    rows: Sequence[npt.NDArray[Any]], width: int, dtype: Any, fill: Any, left: bool = False
) -> npt.NDArray[Any]:
    out = np.full((len(rows), width), fill, dtype=dtype)
    for i, r in enumerate(rows):
        if len(r) > width:
            raise ValueError(f"row {i} has {len(r)} tokens, the batch takes {width}")
        if len(r) == 0:
            continue
        if left:
            out[i, width - len(r):] = r
        else:
            out[i, : len(r)] = r
    return out


def to_verl(
    rows: Sequence[Row], *, pad_token_id: int = 0, prompt_length: Optional[int] = None, response_length: Optional[int] = None
) -> dict[str, Any]:
    """A verl batch: ``{"batch": tensors, "non_tensor_batch": arrays, "meta_info": {}}``, as
    ``DataProto.from_dict(tensors=…, non_tensors=…, meta_info=…)`` takes it.

    B rows, prompts padded on the left to ``prompt_length`` and responses on the right to
    ``response_length`` (default: the longest of the batch). ``advantages`` are the finished token
    advantages and ``returns`` equal them: there is no critic. ``rollout_log_probs`` are those of the
    behaviour policy; ``teacher_log_probs`` (B, T) with ``action_mask`` and ``context_mask`` let an actor
    recompute SERL's weights with its live policy, and are there if every row has them or else has no
    context. Rows without a hindsight context carry zeros and a context mask of 0.
    """
    if not rows:
        raise ValueError("no rows")
    prompts = [r.need("prompt_ids") for r in rows]
    responses = [r.need("response_ids") for r in rows]
    p = prompt_length if prompt_length is not None else max(len(x) for x in prompts)
    t = response_length if response_length is not None else max(len(x) for x in responses)
    prompt_ids = _pad(prompts, p, np.int64, pad_token_id, left=True)
    response_ids = _pad(responses, t, np.int64, pad_token_id)
    attention = np.concatenate(
        [_pad([np.ones(len(x)) for x in prompts], p, np.int64, 0, left=True), _pad([np.ones(len(x)) for x in responses], t, np.int64, 0)],
        axis=1,
    )
    advantages = _pad([r.need("advantages") for r in rows], t, np.float32, 0)
    scores = np.zeros((len(rows), t), dtype=np.float32)
    for i, r in enumerate(rows):
        if r.tokens:
            scores[i, r.tokens - 1] = r.reward_parts["step"]
    batch: dict[str, Any] = {
        "prompts": prompt_ids,
        "responses": response_ids,
        "response_mask": _pad([r.need("response_mask") for r in rows], t, np.int64, 0),
        "input_ids": np.concatenate([prompt_ids, response_ids], axis=1),
        "attention_mask": attention,
        "position_ids": np.clip(np.cumsum(attention, axis=1) - 1, 0, None),
        "rollout_log_probs": _pad([r.need("logprobs") for r in rows], t, np.float32, 0),
        "token_level_scores": scores,
        "advantages": advantages,
        "returns": advantages.copy(),
    }
    if all(r.context_mask is not None for r in rows):
        empty: dict[str, npt.NDArray[Any]] = {}
        for name, column in (("teacher_log_probs", "teacher_logprobs"), ("student_log_probs", "student_logprobs"), ("action_mask", "action_mask")):
            values = [r.need(column) if r.context_mask else np.zeros(r.tokens) for r in rows]
            empty[name] = _pad(values, t, np.int64 if name == "action_mask" else np.float32, 0)
        batch.update(empty)
        batch["context_mask"] = np.array([bool(r.context_mask) for r in rows], dtype=np.int64)
    if all(r.entropies is not None for r in rows):
        batch["rollout_entropies"] = _pad([r.need("entropies") for r in rows], t, np.float32, 0)
    versions = [r.versions if r.versions is not None and len(r.versions) else np.array([-1]) for r in rows]
    non_tensor = {
        "uid": np.array([str(r.group) for r in rows], dtype=object),
        "traj_uid": np.array([str(r.episode) for r in rows], dtype=object),
        "step_id": np.array([r.step_id for r in rows], dtype=object),
        "turn_scores": np.array([r.reward_parts["step"] for r in rows], dtype=object),
        "min_global_steps": np.array([int(v.min()) for v in versions], dtype=object),
        "max_global_steps": np.array([int(v.max()) for v in versions], dtype=object),
    }
    return {"batch": batch, "non_tensor_batch": non_tensor, "meta_info": {}}


def to_trl(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """What a TRL ``rollout_func`` returns, as lists: ``prompt_ids``, ``completion_ids``, ``logprobs``,
    ``env_mask``, with the extras ``advantages`` (per token), ``advantage`` (the row's base advantage, for
    AsyncGRPO's scalar), ``group_id``, ``model_version``, ``reward``. TRL hands extras to reward functions;
    the token advantages are used by a
    subclass of ``GRPOTrainer`` that puts them, padded, into what ``_generate_and_score_completions`` returns:
    its loss takes ``advantages`` of shape (B, T)."""
    return {
        "prompt_ids": [r.need("prompt_ids").tolist() for r in rows],
        "completion_ids": [r.need("response_ids").tolist() for r in rows],
        "logprobs": [r.need("logprobs").tolist() for r in rows],
        "env_mask": [r.need("response_mask").tolist() for r in rows],
        "advantages": [r.need("advantages").tolist() for r in rows],
        "advantage": [r.base_advantage for r in rows],
        "group_id": [r.group for r in rows],
        "model_version": [int(r.versions.min()) if r.versions is not None and len(r.versions) else None for r in rows],
        "reward": [r.reward_parts["episode"] for r in rows],
    }


def to_skyrl(rows: Sequence[Row]) -> dict[str, Any]:
    """A SkyRL ``GeneratorOutput`` of step-wise trajectories. ``rewards`` are the finished token
    advantages, for an advantage estimator that passes rewards through; the environment's own rewards are
    in ``env_metrics``."""
    last = {r.episode: r.step for r in sorted(rows, key=lambda r: r.step)}
    return {
        "prompt_token_ids": [r.need("prompt_ids").tolist() for r in rows],
        "response_ids": [r.need("response_ids").tolist() for r in rows],
        "rewards": [r.need("advantages").tolist() for r in rows],
        "loss_masks": [r.need("response_mask").tolist() for r in rows],
        "stop_reasons": [r.finish for r in rows],
        "rollout_metrics": None,
        "rollout_logprobs": [r.need("logprobs").tolist() for r in rows],
        "trajectory_ids": [{"instance_id": r.task, "repetition_id": r.sample} for r in rows],
        "is_last_step": [r.step == last[r.episode] for r in rows],
        "env_metrics": [dict(r.reward_parts) for r in rows],
    }


def to_slime(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """What slime's ``Sample.from_dict`` takes, one per row. Token advantages and masks are in
    ``train_metadata``, where a custom advantage function finds them."""
    out: list[dict[str, Any]] = []
    for r in rows:
        prompt, response = r.need("prompt_ids").tolist(), r.need("response_ids").tolist()
        sample: dict[str, Any] = {
            "group_index": r.group,
            "index": r.step_id,
            "rollout_id": r.episode,
            "tokens": prompt + response,
            "response_length": len(response),
            "reward": r.reward_parts["episode"],
            "loss_mask": r.need("response_mask").tolist(),
            "rollout_log_probs": r.need("logprobs").tolist(),
            "status": _SLIME_STATUS.get(r.finish, "completed"),
            "metadata": {"task": r.task, "sample": r.sample, "step": r.step, **r.reward_parts},
            "train_metadata": {"advantages": r.need("advantages").tolist(), "sequence_id": r.sequence_id},
        }
        if r.versions is not None:
            sample["weight_versions"] = [str(v) for v in sorted(set(r.versions.tolist()))]
        if r.teacher_logprobs is not None:
            sample["teacher_log_probs"] = r.teacher_logprobs.tolist()
            sample["train_metadata"]["action_mask"] = r.need("action_mask").tolist()
        out.append(sample)
    return out

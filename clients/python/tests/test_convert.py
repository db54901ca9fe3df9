from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from hindsight_client import Row, parse_arrow, to_skyrl, to_slime, to_trl, to_verl
from hindsight_client.rows import row_of


def row(step: int, p: int, t: int, *, context: bool | None = True, episode: int = 1) -> Row:
    rng = np.random.default_rng(step + 100 * episode)
    scored = bool(context)

    def reals() -> np.ndarray:
        return rng.normal(size=t).astype(np.float32)

    return Row(
        step_id=10 * episode + step, group=4, episode=episode, sample=episode, step=step, sequence_id=step, task="alfworld/x", stop="won",
        finish="length" if step else "stop",
        reward_parts={"step": float(step), "episode": 2.0, "score": 1.0, "won": True, "valid": True},
        prompt_ids=rng.integers(1, 99, p).astype(np.int32), response_ids=rng.integers(1, 99, t).astype(np.int32),
        response_mask=np.ones(t, np.uint8), action_mask=np.ones(t, np.uint8) if scored else None, context_mask=context,
        versions=np.full(t, 7, np.int32), logprobs=reals(), student_logprobs=reals() if scored else None,
        teacher_logprobs=reals() if scored else None, entropies=reals(), temperature=1.0, base_advantage=0.5, factor=1.0,
        weights=reals(), advantages=reals(),
    )


def test_verl_pads_prompts_left_and_responses_right() -> None:
    rows = [row(0, 3, 2), row(1, 5, 4, context=False)]
    out = to_verl(rows, pad_token_id=0)
    b = out["batch"]
    assert b["prompts"].shape == (2, 5) and b["responses"].shape == (2, 4)
    assert b["prompts"][0].tolist() == [0, 0, *rows[0].need("prompt_ids").tolist()]
    assert b["responses"][0].tolist() == [*rows[0].need("response_ids").tolist(), 0, 0]
    assert b["attention_mask"][0].tolist() == [0, 0, 1, 1, 1, 1, 1, 0, 0]
    assert b["position_ids"][0].tolist()[2:7] == [0, 1, 2, 3, 4]
    assert b["response_mask"].sum() == 6
    np.testing.assert_array_equal(b["input_ids"], np.concatenate([b["prompts"], b["responses"]], axis=1))
    np.testing.assert_array_equal(b["advantages"][1], rows[1].advantages)
    np.testing.assert_array_equal(b["rollout_log_probs"][0, :2], rows[0].logprobs)
    assert b["token_level_scores"].tolist() == [[0, 0, 0, 0], [0, 0, 0, 1]]
    assert b["context_mask"].tolist() == [1, 0]
    assert not b["teacher_log_probs"][1].any() and not b["action_mask"][1].any()
    assert out["non_tensor_batch"]["uid"].tolist() == ["4", "4"]
    assert out["non_tensor_batch"]["max_global_steps"].tolist() == [7, 7]
    wide = to_verl(rows, prompt_length=8, response_length=6)["batch"]
    assert wide["input_ids"].shape == (2, 14)
    with pytest.raises(ValueError, match="takes 2"):
        to_verl(rows, response_length=2)
    with pytest.raises(ValueError, match="no rows"):
        to_verl([])


def test_verl_without_a_teacher_has_no_teacher_columns() -> None:
    b = to_verl([row(0, 2, 2, context=None)])["batch"]
    assert "teacher_log_probs" not in b and "context_mask" not in b


def test_a_missing_column_is_named() -> None:
    r = row(0, 2, 2)
    r.logprobs = None
    for convert in (to_verl, to_trl, to_skyrl, to_slime):
        with pytest.raises(ValueError, match="step 0 of episode 1 has no logprobs"):
            convert([r])


def test_trl_lists() -> None:
    r = row(1, 3, 2)
    out = to_trl([r])
    assert out["prompt_ids"] == [r.need("prompt_ids").tolist()] and out["completion_ids"] == [r.need("response_ids").tolist()]
    assert out["env_mask"] == [[1, 1]] and out["advantage"] == [0.5] and out["model_version"] == [7] and out["group_id"] == [4]
    assert len(out["advantages"][0]) == 2 and all(len(v) == 1 for v in out.values())


def test_skyrl_marks_last_steps() -> None:
    rows = [row(1, 2, 2), row(0, 2, 2), row(0, 2, 2, episode=2)]
    out = to_skyrl(rows)
    assert out["is_last_step"] == [True, False, True]
    assert out["trajectory_ids"][2] == {"instance_id": "alfworld/x", "repetition_id": 2}
    assert out["stop_reasons"] == ["length", "stop", "stop"]
    assert [len(r) for r in out["rewards"]] == [2, 2, 2]


def test_slime_samples() -> None:
    r = row(1, 3, 2)
    (s,) = to_slime([r])
    assert s["tokens"] == r.need("prompt_ids").tolist() + r.need("response_ids").tolist()
    assert s["response_length"] == 2 and s["status"] == "truncated" and s["weight_versions"] == ["7"]
    assert len(s["teacher_log_probs"]) == len(s["train_metadata"]["action_mask"]) == len(s["loss_mask"]) == 2
    assert "teacher_log_probs" not in to_slime([row(1, 3, 2, context=False)])[0]


def test_real_rows_convert(exported: str) -> None:
    rows = [row_of(raw) for raw in map(json.loads, exported.splitlines())]
    b = to_verl(rows)["batch"]
    assert b["response_mask"].sum() == sum(r.tokens for r in rows)
    assert b["attention_mask"].sum() == sum(r.tokens + len(r.need("prompt_ids")) for r in rows)
    for convert in (to_trl, to_skyrl, to_slime):
        assert convert(rows)


def test_columns_of_another_version_are_passed_over() -> None:
    """One that this client does not know, and one that an older server does not send."""
    pa = pytest.importorskip("pyarrow")
    parts = {"step": 1.0, "episode": 1.0, "score": 0.5, "won": 1, "valid": 1}
    known = {"step_id": [7], "response_ids": [[1, 2]], "reward_parts": [parts], "reward": [None], "won": pa.array([1], pa.uint8()), "score": [0.5]}
    types = {"response_ids": pa.list_(pa.int32())}

    def read(columns: dict[str, Any]) -> Row:
        arrays = {k: v if isinstance(v, pa.Array) else pa.array(v, types.get(k)) for k, v in columns.items()}
        record = pa.RecordBatch.from_pydict(arrays).replace_schema_metadata({b"hindsight": b'{"format": 1}'})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, record.schema) as out:
            out.write_batch(record)
        header, rows = parse_arrow(sink.getvalue().to_pybytes())
        assert header["format"] == 1 and len(rows) == 1
        return rows[0]

    r = read({**known, "of_tomorrow": ["x"]})
    assert (r.step_id, r.reward, r.won, r.score) == (7, None, True, 0.5) and r.need("response_ids").tolist() == [1, 2]
    old = read({k: v for k, v in known.items() if k not in ("reward", "won", "score")})
    assert (old.reward, old.won, old.score) == (None, None, None) and old.reward_parts["won"] is True
    assert row_of({"step_id": 1, "won": False, "of_tomorrow": 3}).won is False


def test_infinities_travel_as_words() -> None:
    raw = {"step_id": 1, "reward_parts": {}, "logprobs": [-1.5, "-Infinity"]}
    r = row_of(raw)
    assert r.need("logprobs").tolist() == [-1.5, float("-inf")]

"""The shapes against the trainers' own libraries, where they are installed."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import library
from hindsight_client import Row, to_skyrl, to_trl, to_verl
from hindsight_client.rows import row_of


@pytest.fixture
def rows(exported: str) -> list[Row]:
    return [row_of(raw) for raw in map(json.loads, exported.splitlines())]


def test_verl_takes_a_batch(rows: list[Row]) -> None:
    verl = library("verl")
    made = to_verl(rows)
    proto = verl.DataProto.from_dict(tensors={k: _torch(v) for k, v in made["batch"].items()}, non_tensors=made["non_tensor_batch"], meta_info=made["meta_info"])
    proto.check_consistency()
    assert len(proto) == len(rows)
    first = proto[: len(rows) // 2]
    again = verl.DataProto.concat([first, proto[len(rows) // 2 :]])
    np.testing.assert_array_equal(again.batch["advantages"].numpy(), made["batch"]["advantages"])
    assert again.non_tensor_batch["uid"].tolist() == [str(r.group) for r in rows]
    picked = proto.select(batch_keys=["responses", "response_mask", "rollout_log_probs", "advantages", "position_ids", "attention_mask", "input_ids"])
    assert picked.batch["responses"].shape == picked.batch["advantages"].shape


def _torch(values: np.ndarray) -> Any:
    return pytest.importorskip("torch").from_numpy(values)


def test_trl_has_the_fields(rows: list[Row]) -> None:
    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    library("trl")
    worker = library("trl", "trl.experimental.async_grpo.async_rollout_worker")
    out = to_trl(rows)
    names = {f.name for f in dataclasses.fields(worker.RolloutSample)}
    assert {"advantage", "model_version", "group_id"} <= names & out.keys()
    for i, r in enumerate(rows):
        sample = worker.RolloutSample(
            prompt=[], completion=[], input_ids=np.array(out["prompt_ids"][i] + out["completion_ids"][i]),
            completion_mask=np.array([0] * len(out["prompt_ids"][i]) + out["env_mask"][i]),
            old_log_probs=np.array([0.0] * len(out["prompt_ids"][i]) + out["logprobs"][i]),
            advantage=out["advantage"][i], model_version=out["model_version"][i], group_id=out["group_id"][i], metrics={},
        )
        assert sample.completion_mask.sum() == r.tokens and len(sample.input_ids) == len(sample.old_log_probs)
    import trl.trainer.grpo_trainer as grpo

    source = Path(grpo.__file__).read_text()
    for key in ("prompt_ids", "completion_ids", "logprobs", "env_mask"):  # what a rollout_func is asked for
        assert f'"{key}"' in source and key in out


def test_skyrl_accepts_the_output(rows: list[Row]) -> None:
    """The class and the check are SkyRL's. Its package as a whole wants vLLM and Python 3.12, so the file
    that declares them is loaded alone; all that is replaced is an alias for the type of a conversation."""
    spec = importlib.util.find_spec("skyrl")
    if spec is None or not spec.submodule_search_locations:
        library("skyrl")  # says so
    assert spec is not None and spec.submodule_search_locations
    pytest.importorskip("torch")
    file = Path(spec.submodule_search_locations[0]) / "train/generators/base.py"
    alias = types.ModuleType("skyrl.backends.skyrl_train.inference_servers.base")
    alias.ConversationType = list  # type: ignore[attr-defined]
    before = dict(sys.modules)
    try:
        for name in ("skyrl.backends", "skyrl.backends.skyrl_train", "skyrl.backends.skyrl_train.inference_servers"):
            sys.modules[name] = types.ModuleType(name)
        sys.modules[alias.__name__] = alias
        loaded = importlib.util.spec_from_file_location("skyrl_generators_base", file)
        assert loaded is not None and loaded.loader is not None
        base = importlib.util.module_from_spec(loaded)
        sys.modules["skyrl_generators_base"] = base
        loaded.loader.exec_module(base)
    finally:
        for name in set(sys.modules) - set(before):
            if name.startswith("skyrl"):
                del sys.modules[name]
    out = to_skyrl(rows)
    assert out.keys() <= base.GeneratorOutput.__annotations__.keys()
    assert {f.name for f in dataclasses.fields(base.TrajectoryID)} == out["trajectory_ids"][0].keys()
    ids = [base.TrajectoryID(**t) for t in out["trajectory_ids"]]
    assert len({i.to_string() for i in ids}) == len({r.episode for r in rows})
    # validate_generator_output's rule for step-wise trajectories: rows of one come together, its last one at the end.
    for a, b, last in zip(ids, ids[1:], out["is_last_step"]):
        assert last == (a != b)

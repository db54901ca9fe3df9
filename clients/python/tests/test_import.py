"""Files that the real packages write, brought into the ledger with ``harness import``."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

from conftest import library


def call(harness: Path, *args: str) -> str:
    done = subprocess.run([str(harness), *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def through(harness: Path, db: Path, fmt: str, *files: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Imports, gives credit, exports; what import said and the rows."""
    said = json.loads(call(harness, "import", "--format", fmt, *map(str, files), "--db", str(db), "--name", "theirs", "--json"))
    call(harness, "credit", "--db", str(db), "--run", "theirs")
    assert "0 violations" in call(harness, "db", "check", "--db", str(db))
    rows = [json.loads(line) for line in call(harness, "export", "--db", str(db), "--run", "theirs", "--format", "jsonl", "--out", "-").splitlines()]
    return said, rows


def test_verifiers(harness: Path, tmp_path: Path) -> None:
    vf = library("verifiers", "verifiers.v1.trace")
    from verifiers.v1.configs.agent import WireAgentConfig
    from verifiers.v1.episode import EnvInfo, Episode
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.task import WireTaskData
    from verifiers.v1.types import AssistantMessage, SystemMessage, UserMessage
    from verifiers.v1.utils.trace_store import read_episodes, write_episode

    task = vf.TraceTask(type="Count", data=WireTaskData(idx=0, prompt="Count."), key="count-0", hash="ab" * 32)
    for reward in (1.0, 0.0):
        trace = vf.WireTrace(task=task, agent=vf.AgentInfo(config=WireAgentConfig()))
        trace.nodes = [
            MessageNode(message=SystemMessage(content="You count."), token_ids=[1, 2], mask=[False, False]),
            MessageNode(parent=0, message=UserMessage(content="Count."), token_ids=[3], mask=[False]),
            MessageNode(parent=1, message=AssistantMessage(content="one"), sampled=True, token_ids=[4, 5, 6], mask=[False, True, True], logprobs=[-0.5, -0.25]),
            MessageNode(parent=2, message=UserMessage(content="More."), token_ids=[7], mask=[False]),
            MessageNode(parent=3, message=AssistantMessage(content="two"), sampled=True, token_ids=[4, 8], mask=[False, True], logprobs=[-0.125]),
        ]
        trace.calls = [vf.ModelCall(node=2, model="m", sampling={"temperature": 1.0}), vf.ModelCall(node=4, model="m", sampling={"temperature": 1.0})]
        trace.record_reward("right", reward, weight=2.0)
        trace.record_metric("turns", 2)
        trace.ok = True
        trace.stop("agent_completed")
        write_episode(tmp_path, Episode(env=EnvInfo(id="counting"), task=task, traces=[trace], ok=True))
    file = tmp_path / "traces.jsonl"
    theirs = [e.traces[0] for e in read_episodes(tmp_path, vf.WireTrace)]

    said, rows = through(harness, tmp_path / "run.db", "verifiers", file)
    assert (said["groups"], said["episodes"], said["steps"], said["failed"]) == (1, 2, 4, 0)
    for sample, trace in enumerate(theirs):
        branch = trace.branches[0]
        mine = [r for r in rows if r["sample"] == sample]
        assert [r["task"] for r in mine] == ["counting/count-0"] * 2
        last = mine[-1]
        ids = last["prompt_ids"] + last["response_ids"]
        assert ids == branch.token_ids  # what verifiers itself would train on
        mask = [False] * len(ids)
        logprobs = [0.0] * len(ids)
        for r in mine:
            start = len(r["prompt_ids"])
            for i, lp in enumerate(r["logprobs"]):
                mask[start + i], logprobs[start + i] = True, lp
        assert mask == branch.sampled_mask
        assert logprobs == branch.logprobs
        assert last["reward_parts"]["episode"] == trace.reward
    assert {r["base_advantage"] > 0 for r in rows if r["sample"] == 0} == {True}
    assert {r["base_advantage"] < 0 for r in rows if r["sample"] == 1} == {True}


def test_atif(harness: Path, tmp_path: Path) -> None:
    atif = library("harbor", "harbor.models.trajectories")
    for i, reward in enumerate((1.0, 0.0)):
        trial = tmp_path / "job" / f"trial-{i}"
        (trial / "agent").mkdir(parents=True)
        trajectory = atif.Trajectory(
            session_id=f"s-{i}",
            agent=atif.Agent(name="terminus", version="2", model_name="m"),
            steps=[
                atif.Step(step_id=1, source="user", message="Mend it."),
                atif.Step(
                    step_id=2, source="agent", message="Looking.",
                    tool_calls=[atif.ToolCall(tool_call_id="c", function_name="bash", arguments={"cmd": "ls"})],
                    observation=atif.Observation(results=[atif.ObservationResult(source_call_id="c", content="a.py")]),
                    metrics=atif.Metrics(prompt_token_ids=[1, 2], completion_token_ids=[3, 4], logprobs=[-0.5, -0.25]),
                ),
                atif.Step(step_id=3, source="agent", message="Done.", metrics=atif.Metrics(prompt_token_ids=[1, 2, 3, 4, 5], completion_token_ids=[6], logprobs=[-1.0])),
            ],
        )
        (trial / "agent" / "trajectory.json").write_text(json.dumps(trajectory.to_json_dict(), indent=2))
        (trial / "result.json").write_text(json.dumps({"task_name": "mend", "task_checksum": "c", "verifier_result": {"rewards": {"reward": reward}}}))
    said, rows = through(harness, tmp_path / "run.db", "atif", tmp_path / "job")
    assert (said["groups"], said["episodes"], said["steps"]) == (1, 2, 4)
    assert [r["response_ids"] for r in rows] == [[3, 4], [6]] * 2
    assert [r["logprobs"] for r in rows] == [[-0.5, -0.25], [-1.0]] * 2
    assert [r["base_advantage"] > 0 for r in rows] == [True, True, False, False]
    with sqlite3.connect(tmp_path / "run.db") as db:
        assert db.execute("SELECT count(*) FROM episodes WHERE status = 'done'").fetchone() == (2,)

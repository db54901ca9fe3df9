"""Typed OpenEnv client of ``harness env serve --protocol openenv``.

It needs the package ``openenv`` (``pip install "hindsight-client[openenv]"``), which this package does
not install by itself. A session is one connection::

    from hindsight_client.openenv import HindsightAction, HindsightEnv

    with HindsightEnv(base_url="http://127.0.0.1:8000").sync() as env:
        result = env.reset(task_id="valid_seen/…")      # or seed=7, split="train", index=3
        while not result.done:
            action = choose(result.observation.text, result.observation.admissible)
            result = env.step(HindsightAction(text=action))
        print(env.state().total_reward)

``await`` works as well, without ``.sync()``: that is openenv's ``EnvClient``. A server that wants a token
gets it with ``headers={"Authorization": "Bearer …"}``.
"""

from __future__ import annotations

from typing import Any

try:
    from openenv.core import EnvClient
    from openenv.core.client_types import StepResult
    from openenv.core.env_server.types import Action, Observation, State
except ImportError as err:
    raise ImportError('hindsight_client.openenv needs the package openenv: pip install "hindsight-client[openenv]"') from err

__all__ = ["HindsightAction", "HindsightEnv", "HindsightObservation", "HindsightState"]


class HindsightAction(Action):
    """An action in the environment's words: ``"go to desk 1"``, ``"search[red shoes]"``."""

    text: str


class HindsightObservation(Observation):
    """What an action showed. ``reward`` (None after a reset), ``done`` and ``metadata`` are the base's.

    ``metadata`` has ``episode_id``, ``env``, ``task_id``, ``split``, ``type``, ``step`` and ``truncated``
    (the step limit ended the episode, not the environment), and ``anchor`` where two states can be the same
    although their texts differ.
    """

    text: str
    """What the environment says, byte for byte."""
    task: str
    """The instruction; empty where the environment states none."""
    admissible: list[str] | None = None
    """Legal actions in the environment's order; None where it has no list."""
    feedback: str = ""
    """What the environment answered to the action itself; empty: nothing."""
    score: float = 0.0
    """Of the task so far, in [0, 1]."""
    won: bool = False
    """The task is solved."""


class HindsightState(State):
    """The episode from outside. ``episode_id`` (None before the first reset) and ``step_count`` are the base's."""

    session_id: str | None = None
    env: str | None = None
    task_id: str | None = None
    split: str | None = None
    type: str | None = None
    task_hash: str | None = None
    seed: int | None = None
    max_steps: int | None = None
    total_reward: float = 0.0
    score: float = 0.0
    won: bool = False
    done: bool = False
    truncated: bool = False


class HindsightEnv(EnvClient[HindsightAction, HindsightObservation, HindsightState]):
    """A session of ``harness env serve --protocol openenv``.

    ``reset`` takes ``task_id``, ``split``, ``index``, ``seed``, ``episode_id`` and ``max_steps``, all optional;
    ``step`` takes a :class:`HindsightAction` or its text. Errors of the server are ``RuntimeError`` with the
    protocol's code in their text (``CAPACITY_REACHED``, ``VALIDATION_ERROR``, …), as openenv raises them.
    """

    def _step_payload(self, action: HindsightAction | str) -> dict[str, Any]:
        if isinstance(action, str):
            return {"text": action}
        return dict(action.model_dump())

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[HindsightObservation]:
        reward, done = payload.get("reward"), payload.get("done", False)
        observation = HindsightObservation(**payload["observation"], reward=reward, done=done)
        return StepResult(observation=observation, reward=reward, done=done, metadata=payload.get("metadata"))

    def _parse_state(self, payload: dict[str, Any]) -> HindsightState:
        return HindsightState(**payload)

"""Rows: one step of an episode each, with a numpy array per column of tokens."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.uint8]


@dataclass(slots=True)
class Row:
    """One step: P prompt tokens and T response tokens. A column that is ``None`` was not given by the
    policy, the credit pass or the teacher pass; it is never made up. Log-probabilities and entropies
    are in nats. docs/feed.md describes every field."""

    step_id: int
    group: int
    episode: int
    sample: int
    step: int
    sequence_id: int
    task: str
    stop: str
    finish: str
    reward_parts: dict[str, Any]
    prompt_ids: Optional[Ints] = None  # P
    response_ids: Optional[Ints] = None  # T
    response_mask: Optional[Mask] = None  # T
    action_mask: Optional[Mask] = None  # T
    context_mask: Optional[bool] = None
    versions: Optional[Ints] = None  # T
    logprobs: Optional[Floats] = None  # T, behaviour policy
    student_logprobs: Optional[Floats] = None  # T
    teacher_logprobs: Optional[Floats] = None  # T
    entropies: Optional[Floats] = None  # T
    temperature: Optional[float] = None
    base_advantage: Optional[float] = None
    factor: Optional[float] = None
    weights: Optional[Floats] = None  # T
    advantages: Optional[Floats] = None  # T
    loss_weight: Optional[float] = None  # the loss of the batch is Σ over rows of it · Σ over tokens
    parent: Optional[int] = None  # episode that this one grew out of; None for a root
    shared_tokens: int = 0  # leading response tokens that an ancestor sampled
    token_shares: Optional[Floats] = None  # T, 1/n where n rows of the group hold the very token
    reward: Optional[float] = None  # of the episode, what its group was compared by; None where the credit pass made its own
    won: Optional[bool] = None  # the episode solved its task; None from a server that is older than the column
    score: Optional[float] = None  # of the episode by its task's own measure, in [0, 1]; None likewise

    @property
    def tokens(self) -> int:
        """T, the number of response tokens."""
        return 0 if self.response_ids is None else len(self.response_ids)

    def need(self, name: str) -> npt.NDArray[Any]:
        """The column of this name; ValueError where the row does not have it."""
        value = getattr(self, name)
        if value is None:
            raise ValueError(f"step {self.step} of episode {self.episode} has no {name}: the run, its credit pass or its teacher pass does not give it")
        column: npt.NDArray[Any] = value
        return column


_INTS = ("prompt_ids", "response_ids", "versions")
_MASKS = ("response_mask", "action_mask")
_FLOATS = ("logprobs", "student_logprobs", "teacher_logprobs", "entropies", "weights", "advantages", "token_shares")
_NAMES = tuple(f.name for f in fields(Row))
_DTYPES: dict[str, Any] = {
    **dict.fromkeys(_INTS, np.int32),
    **dict.fromkeys(_MASKS, np.uint8),
    **dict.fromkeys(_FLOATS, np.float32),
}


def row_of(raw: dict[str, Any]) -> Row:
    """A row from its JSON object, as ``harness export --format jsonl`` and the feed write it. Infinities
    are strings there."""
    values: dict[str, Any] = {}
    for name in _NAMES:
        v = raw.get(name)
        if v is not None and name in _DTYPES:
            if name in _FLOATS:
                v = [float(x) for x in v]
            v = np.array(v, dtype=_DTYPES[name])
        values[name] = v
    return Row(**values)


def parse_json(raw: str | bytes) -> tuple[dict[str, Any], list[Row]]:
    """The header and rows of a JSON batch."""
    doc = json.loads(raw)
    return doc["batch"], [row_of(r) for r in doc["rows"]]


def parse_arrow(raw: bytes | memoryview) -> tuple[dict[str, Any], list[Row]]:
    """The header and rows of an Arrow batch. The arrays are views of ``raw`` and cannot be written."""
    import pyarrow as pa  # optional

    with pa.ipc.open_stream(pa.py_buffer(raw)) as stream:
        header = json.loads(stream.schema.metadata[b"hindsight"])
        rows: list[Row] = []
        for record in stream:
            rows.extend(_rows_of_record(record))
    return header, rows


def _rows_of_record(record: Any) -> list[Row]:
    columns: list[list[Any]] = []
    for name in _NAMES:
        if name not in record.schema.names:  # the server is older than this client
            columns.append([None] * record.num_rows)
            continue
        column = record.column(name)
        if name in _DTYPES:
            columns.append(_slices(column, _DTYPES[name]))
        elif name in ("context_mask", "won"):
            columns.append([None if v is None else bool(v) for v in column.to_pylist()])
        elif name == "reward_parts":
            columns.append([{**v, "won": bool(v["won"]), "valid": bool(v["valid"])} for v in column.to_pylist()])
        else:
            columns.append(column.to_pylist())
    return [Row(**dict(zip(_NAMES, values))) for values in zip(*columns)]


def _slices(column: Any, dtype: Any) -> list[Any]:
    values = column.values.to_numpy(zero_copy_only=True)
    if values.dtype != dtype:
        raise ValueError(f"a column of {values.dtype}, want {dtype}")
    ends = column.offsets.to_numpy()
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    return [values[a:b] if ok else None for a, b, ok in zip(ends[:-1], ends[1:], valid)]

"""A llama in plain torch, read from a GGUF file and written back to one.

The module computes what llama.cpp computes from the same file, so that the trainer's log-probabilities are
those of the policy server. Any file of the architecture "llama" without biases is read; quantised tensors are
read as float32, and everything is written as float32.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class Config:
    """Sizes, as the file's metadata give them."""

    vocab: int
    width: int
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    context: int
    eps: float
    rope_base: float
    tied: bool  # the output matrix is the embedding

    @property
    def head(self) -> int:
        """Numbers per attention head."""
        return self.width // self.heads


class RMSNorm(nn.Module):
    """x / rms(x) * weight over the last dimension."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Block(nn.Module):
    """Attention and feed-forward of one layer. Parameters are called as in a GGUF file."""

    def __init__(self, c: Config) -> None:
        super().__init__()
        self.c = c
        self.attn_norm, self.ffn_norm = RMSNorm(c.width, c.eps), RMSNorm(c.width, c.eps)
        self.attn_q = nn.Linear(c.width, c.heads * c.head, bias=False)
        self.attn_k = nn.Linear(c.width, c.kv_heads * c.head, bias=False)
        self.attn_v = nn.Linear(c.width, c.kv_heads * c.head, bias=False)
        self.attn_output = nn.Linear(c.heads * c.head, c.width, bias=False)
        self.ffn_gate = nn.Linear(c.width, c.hidden, bias=False)
        self.ffn_up = nn.Linear(c.width, c.hidden, bias=False)
        self.ffn_down = nn.Linear(c.hidden, c.width, bias=False)

    def forward(self, x: Tensor, turn: Tensor) -> Tensor:
        b, n, _ = x.shape
        h = self.attn_norm(x)
        q = rotate(self.attn_q(h).view(b, n, self.c.heads, -1), turn).transpose(1, 2)
        k = rotate(self.attn_k(h).view(b, n, self.c.kv_heads, -1), turn).transpose(1, 2)
        v = self.attn_v(h).view(b, n, self.c.kv_heads, -1).transpose(1, 2)
        share = self.c.heads // self.c.kv_heads
        k, v = k.repeat_interleave(share, 1), v.repeat_interleave(share, 1)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attn_output(mixed.transpose(1, 2).reshape(b, n, -1))
        h = self.ffn_norm(x)
        return x + self.ffn_down(F.silu(self.ffn_gate(h)) * self.ffn_up(h))


def rotate(x: Tensor, turn: Tensor) -> Tensor:
    """Rotary positions: neighbours are the real and imaginary part, as GGUF files of this architecture
    have them. x (B, N, heads, head), turn (N, head/2) complex."""
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turn[:, None, :]).flatten(-2)


class Llama(nn.Module):
    """The model. Padding goes on the right: a causal model does not see what comes later."""

    def __init__(self, c: Config) -> None:
        super().__init__()
        self.c = c
        self.token_embd = nn.Embedding(c.vocab, c.width)
        self.blk = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.output_norm = RMSNorm(c.width, c.eps)
        self.output = nn.Linear(c.width, c.vocab, bias=False)
        if c.tied:
            self.output.weight = self.token_embd.weight
        rates = c.rope_base ** (-torch.arange(0, c.head, 2, dtype=torch.float32) / c.head)
        angles = torch.outer(torch.arange(c.context, dtype=torch.float32), rates)
        self.register_buffer("turn", torch.polar(torch.ones_like(angles), angles), persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Token ids (B, N) to logits (B, N, vocabulary)."""
        x = self.token_embd(ids)
        for block in self.blk:
            x = block(x, self.turn[: ids.shape[1]])
        return self.output(self.output_norm(x))

    def logprobs(self, ids: Tensor) -> Tensor:
        """Log-probability (nats) of each token given those before it, (B, N-1): the first has none."""
        return -F.cross_entropy(self(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten(), reduction="none").view(ids.shape[0], -1)


def load(path: str | Path) -> Llama:
    """The model of a GGUF file."""
    reader = gguf.GGUFReader(path)
    tensors = {t.name: t for t in reader.tensors}

    def get(key: str, default: Any = None) -> Any:
        field = reader.get_field(key)
        if field is None and default is None:
            raise ValueError(f"{path}: no {key}")
        return default if field is None else field.contents()

    if get("general.architecture") != "llama":
        raise ValueError(f"{path}: architecture {get('general.architecture')!r}, this module is a llama")
    heads = get("llama.attention.head_count")
    model = Llama(
        Config(
            vocab=int(tensors["token_embd.weight"].shape[1]), width=get("llama.embedding_length"), layers=get("llama.block_count"),
            hidden=get("llama.feed_forward_length"), heads=heads, kv_heads=get("llama.attention.head_count_kv", heads),
            context=get("llama.context_length"), eps=get("llama.attention.layer_norm_rms_epsilon"),
            rope_base=get("llama.rope.freq_base", 10000.0), tied="output.weight" not in tensors,
        )
    )
    weights = {name: torch.tensor(gguf.quants.dequantize(t.data, t.tensor_type)) for name, t in tensors.items()}
    if model.c.tied:
        weights["output.weight"] = weights["token_embd.weight"]
    model.load_state_dict(weights)  # strict: a tensor too many or too few is an error
    return model


def save(model: Llama, like: str | Path, path: str | Path) -> None:
    """Write the weights with the metadata and the tokenizer of the file ``like``. The file appears
    whole or not at all: a policy server may be told to read it at any time."""
    reader = gguf.GGUFReader(like)
    part = Path(f"{path}.part")
    writer = gguf.GGUFWriter(part, "llama")
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        if field.types[0] == gguf.GGUFValueType.ARRAY and field.types[-1] == gguf.GGUFValueType.STRING:
            value: Any = [bytes(field.parts[i]) for i in field.data]  # tokens need not be UTF-8
        else:
            value = field.contents()
        writer.add_key_value(name, value, field.types[0], field.types[-1] if len(field.types) > 1 else None)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    state = model.state_dict()
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, state[tensor.name].detach().to(torch.float32).contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.replace(part, path)

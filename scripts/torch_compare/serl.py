"""SERL's token weights, and AEM's factors before them, in torch on one CPU thread.

Arguments: a folder with student.bin, teacher.bin (float32, rows*tokens), advantage.bin, entropy.bin
(float32, rows) and mask.bin (one byte a token); rows; tokens; passes. It writes NAME.out (float32) for
each computation and prints the rates as JSON. The formulas are those of docs/credit.md.
"""

import json
import sys
import time

import torch

folder, rows, tokens, passes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
torch.set_num_threads(1)
LAMBDA, CLIP, GROUP, EPSILON, MIN_RANGE = 0.5, 0.2, 8, 1e-8, 0.1


def load(name, dtype, *shape):
    with open(f"{folder}/{name}.bin", "rb") as f:
        return torch.frombuffer(bytearray(f.read()), dtype=dtype).reshape(shape)


student, teacher = load("student", torch.float32, rows, tokens), load("teacher", torch.float32, rows, tokens)
advantage, entropy = load("advantage", torch.float32, rows), load("entropy", torch.float32, rows)
mask = load("mask", torch.uint8, rows, tokens).bool()


def serl(a):
    a = a.unsqueeze(1)
    weight = (a.sign() * (teacher - student)).clamp(-20, 20).exp().clamp(1 - CLIP, 1 + CLIP)
    blend = (1 - LAMBDA) + LAMBDA * weight
    return a * torch.where(mask, blend, torch.ones_like(blend))


def aem():
    group = torch.arange(rows) // GROUP
    n = int(group[-1]) + 1
    low = torch.full((n,), torch.inf).scatter_reduce(0, group, entropy, "amin")[group]
    high = torch.full((n,), -torch.inf).scatter_reduce(0, group, entropy, "amax")[group]
    e = torch.exp(-(entropy - low) / (high - low + EPSILON))
    count = torch.zeros(n).scatter_add(0, group, torch.ones(rows))
    mean = (torch.zeros(n).scatter_add(0, group, e) / count)[group]
    return torch.where(high - low < MIN_RANGE, torch.ones(rows), e / (mean + EPSILON))


def rate(f):
    best = float("inf")
    for _ in range(passes + 1):
        start = time.perf_counter()
        result = f()
        best = min(best, time.perf_counter() - start)
    return rows * tokens / best, result


rates = {}
target = torch.empty_like(student)
rates["copy"], _ = rate(lambda: target.copy_(student))
for name, f in (("serl", lambda: serl(advantage)), ("aem+serl", lambda: serl(advantage * aem()))):
    rates[name], result = rate(f)
    with open(f"{folder}/{name}.out", "wb") as out:
        out.write(bytes(result.contiguous().untyped_storage()))
print(json.dumps({"torch": torch.__version__, "rates": rates}))

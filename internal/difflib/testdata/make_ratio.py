"""Writes ratio.json: random pairs of strings and what Python's difflib says of them.

    python3 make_ratio.py > ratio.json
"""
import difflib, json, random, sys

rnd = random.Random(20240607)
ALPHABETS = ["ab", "abc ", "abcdefghij .", "aé世🙂 x", "the quick brown fox 0123456789.,"]


def pair():
    letters = rnd.choice(ALPHABETS)
    b = "".join(rnd.choice(letters) for _ in range(rnd.choice([0, 1, 5, 30, 120, 199, 200, 201, 260, 420])))
    a = list(b)
    for _ in range(rnd.choice([0, 1, 3, 10, 60])):
        at = rnd.randrange(len(a) + 1)
        kind = rnd.randrange(3)
        if kind == 0 and a:
            del a[at : at + rnd.randrange(1, 6)]
        elif kind == 1:
            a[at:at] = [rnd.choice(letters) for _ in range(rnd.randrange(1, 6))]
        elif at < len(a):
            a[at] = rnd.choice(letters)
    if rnd.random() < 0.2:
        rnd.shuffle(a)
    return "".join(a), b


cases = []
for _ in range(150):
    a, b = pair()
    cases.append({"a": a, "b": b, "ratio": difflib.SequenceMatcher(None, a, b).ratio()})
header = "python %s difflib, seed 20240607" % sys.version.split()[0]
json.dump({"source": header, "cases": cases}, sys.stdout, ensure_ascii=False, indent=0)

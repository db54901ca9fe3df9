"""Writes python.json: what Python's own string functions do with every code point.

Run with a Python whose unicodedata.unidata_version is the Version of Go's package unicode:
    python3 gen.py > python.json
"""
import json
import re
import sys
import unicodedata

POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def ranges(test):
    out = []
    for c in POINTS:
        if test(chr(c)):
            if out and out[-1][1] == c - 1:
                out[-1][1] = c
            else:
                out.append([c, c])
    return out


def ignorable(ch):
    """A capital sigma after a letter stays final with ch between them, and ch alone does not do it."""
    return ("a" + ch + "Σ").lower()[-1] == "ς" and ("\x00" + ch + "Σ").lower()[-1] == "σ"


json.dump(
    {
        "python": sys.version.split()[0],
        "unicode": unicodedata.unidata_version,
        "lower": {str(c): [ord(x) for x in chr(c).lower()] for c in POINTS if chr(c).lower() != chr(c)},
        "final_after": ranges(lambda ch: (ch + "Σ").lower()[-1] == "ς"),
        "ignorable": ranges(ignorable),
        "not_final_before": ranges(lambda ch: ("aΣ" + ch).lower()[1] == "σ"),
        "space": ranges(str.isspace),
        "word": ranges(lambda ch: re.match(r"\w", ch) is not None),
        "fold": {
            w: [c for c in POINTS if re.fullmatch(re.escape(w), chr(c), re.IGNORECASE)]
            for w in "abcdefghijklmnopqrstuvwxyz<>/[]"
        },
    },
    sys.stdout,
    separators=(",", ":"),
)
print()

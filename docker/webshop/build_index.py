"""Build the checkout's search index, where it has none, by the steps of its setup.sh: over all products of
its data file. Run in the image, at its build."""

import glob
import os
import runpy
import sys

import adapter

folder = os.path.join(adapter.CHECKOUT, "search_engine")
adapter.configure()
if not glob.glob(os.path.join(folder, "indexes", "segments*")):
    os.chdir(folder)
    for name in ("resources", "resources_100", "resources_1k", "resources_100k"):
        os.makedirs(name, exist_ok=True)
    runpy.run_path("convert_product_file_format.py", run_name="__main__")
    # Java keeps the folder in which it was started.
    sys.argv = [
        "pyserini.index.lucene", "--collection", "JsonCollection",
        "--input", os.path.join(folder, "resources"), "--index", os.path.join(folder, "indexes"),
        "--generator", "DefaultLuceneDocumentGenerator", "--threads", "1", "--storePositions", "--storeDocvectors", "--storeRaw",
    ]
    runpy.run_module("pyserini.index.lucene", run_name="__main__", alter_sys=True)

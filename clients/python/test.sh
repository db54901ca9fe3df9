#!/bin/sh
# Builds the server and the wheel of the Python client, and tests one against the other in a virtual
# environment outside the repository. Where python3 (or PYTHON) cannot make one, it says so and ends well.
# The reference trainer is tested where PYTHON has torch and gguf, or with HARNESS_TORCH=install; its closed
# loop only with HARNESS_E2E=1.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
skip() { echo "test-python: skipped: $1"; exit 0; }
PYTHON=${PYTHON:-python3}
command -v "$PYTHON" >/dev/null || skip "there is no $PYTHON"
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip "python3 is older than 3.10"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$PYTHON" -m venv "$work/venv" >/dev/null 2>&1 || skip "python3 has no venv or no pip"
"$work/venv/bin/pip" install -q setuptools wheel mypy pytest numpy websockets pyarrow || skip "pip cannot install the packages that the tests need"
cp -r "$here" "$work/client"
"$work/venv/bin/pip" wheel -q --no-deps --no-build-isolation -w "$work/wheel" "$work/client"
"$work/venv/bin/pip" install -q --no-deps "$work"/wheel/hindsight_client-*.whl
(cd "$work/client" && "$work/venv/bin/mypy")
if [ "${HARNESS_TORCH:-}" = install ]; then # kept: it has gigabytes
	kept=${XDG_CACHE_HOME:-$HOME/.cache}/hindsight/torch
	[ -x "$kept/bin/python" ] || "$PYTHON" -m venv "$kept"
	"$kept/bin/pip" install -q torch gguf || skip "pip cannot install torch"
	PYTHON=$kept/bin/python
fi
# What the given Python has of torch and of the trainers' libraries serves the tests, after their own packages.
libraries=$("$PYTHON" -c 'import os, torch, gguf; print(os.path.dirname(os.path.dirname(torch.__file__)))' 2>/dev/null || true)
[ -z "$libraries" ] || echo "$libraries" >"$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/libraries.pth"
HARNESS_SHARED=${HARNESS_SHARED:-$here/../../../shared}
export HARNESS_SHARED
if [ -z "${HARNESS_BIN:-}" ]; then
	(cd "$here/../.." && go build -o "$work/harness" ./cmd/harness)
	HARNESS_BIN=$work/harness
	export HARNESS_BIN
fi
"$work/venv/bin/python" -m pytest -q -p no:cacheprovider "$work/client/tests" "$@"

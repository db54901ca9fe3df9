#!/bin/sh
# Builds the server and the wheel of the Python client, and tests one against the other in a virtual
# environment outside the repository. Where python3 cannot make one, it says so and ends well.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
skip() { echo "test-python: skipped: $1"; exit 0; }
command -v python3 >/dev/null || skip "there is no python3"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip "python3 is older than 3.10"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv" >/dev/null 2>&1 || skip "python3 has no venv or no pip"
"$work/venv/bin/pip" install -q setuptools wheel mypy pytest numpy websockets pyarrow || skip "pip cannot install the packages that the tests need"
cp -r "$here" "$work/client"
"$work/venv/bin/pip" wheel -q --no-deps --no-build-isolation -w "$work/wheel" "$work/client"
"$work/venv/bin/pip" install -q --no-deps "$work"/wheel/hindsight_client-*.whl
(cd "$work/client" && "$work/venv/bin/mypy")
if [ -z "${HARNESS_BIN:-}" ]; then
	(cd "$here/../.." && go build -o "$work/harness" ./cmd/harness)
	HARNESS_BIN=$work/harness
	export HARNESS_BIN
fi
"$work/venv/bin/python" -m pytest -q -p no:cacheprovider "$work/client/tests" "$@"

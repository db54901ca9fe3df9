#!/bin/sh
# Builds the server and the wheel of the Python client, and tests one against the other in a virtual
# environment outside the repository. Where python3 (or PYTHON) cannot make one, it says so and ends well.
#
# With HARNESS_E2E=1 the libraries that the client works with are installed, too, in environments that are
# kept, and a test that lacks one of those fails instead of being skipped; what pip could not install is
# printed at the end. HARNESS_TORCH=install does this for torch alone. Beside that, what PYTHON has of torch and
# of the trainers' libraries is used. Arguments go to pytest.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
skip() { echo "test-python: skipped: $1"; exit 0; }
PYTHON=${PYTHON:-python3}
command -v "$PYTHON" >/dev/null || skip "there is no $PYTHON"
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip "python3 is older than 3.10"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tests="pytest numpy websockets pyarrow" # what they need in each environment
"$PYTHON" -m venv "$work/venv" >/dev/null 2>&1 || skip "python3 has no venv or no pip"
# shellcheck disable=SC2086 # they are words
"$work/venv/bin/pip" install -q setuptools wheel mypy $tests || skip "pip cannot install the packages that the tests need"
cp -r "$here" "$work/client"
"$work/venv/bin/pip" wheel -q --no-deps --no-build-isolation -w "$work/wheel" "$work/client"
"$work/venv/bin/pip" install -q --no-deps "$work"/wheel/hindsight_client-*.whl
(cd "$work/client" && "$work/venv/bin/mypy")

e2e=${HARNESS_E2E:-}
kept=${XDG_CACHE_HOME:-$HOME/.cache}/hindsight
base=$PYTHON
: >"$work/missing"
# install ENVIRONMENT LIBRARY ARGUMENT… has pip install a library into an environment that is kept.
install() {
	environment=$kept/$1 library=$2
	shift 2
	[ -x "$environment/bin/python" ] || "$base" -m venv "$environment"
	"$environment/bin/pip" install -q "$@" >"$work/log" 2>&1 && return
	echo "test-python: pip cannot install $library ($*): $({ grep ERROR "$work/log" || cat "$work/log"; } | tail -n 1 | cut -c 1-200)" >>"$work/missing"
	return 1
}

# In one environment with torch, all that shares its tensors; versions are those of docs/training.md.
libraries=""
if [ "${HARNESS_TORCH:-}" = install ] || [ "$e2e" = 1 ]; then
	install torch torch torch gguf || skip "$(cat "$work/missing")"
	PYTHON=$kept/torch/bin/python
fi
if [ "$e2e" = 1 ]; then
	install torch trl trl==1.16.0 transformers==5.24.0 && libraries="$libraries trl"
	install torch "verl's tensors" ray tensordict==0.15.3 hydra-core && install torch verl --no-deps verl==0.9.1 && libraries="$libraries verl"
	install torch skyrl --no-deps skyrl==0.3.0 && libraries="$libraries skyrl"
fi
# What PYTHON has serves the tests, after their own packages.
site=$("$PYTHON" -c 'import os, torch, gguf; print(os.path.dirname(os.path.dirname(torch.__file__)))' 2>/dev/null || true)
[ -z "$site" ] || echo "$site" >"$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/libraries.pth"

HARNESS_SHARED=${HARNESS_SHARED:-$here/../../../shared}
export HARNESS_SHARED
if [ -z "${HARNESS_BIN:-}" ]; then
	(cd "$here/../.." && go build -o "$work/harness" ./cmd/harness)
	HARNESS_BIN=$work/harness
	export HARNESS_BIN
fi

# alone LIBRARY PACKAGE FILE [ARGUMENT…] runs the tests of a library whose dependencies keep it from the
# others'.
failed=""
ran=""
alone() {
	alone=$1 package=$2 file=$3
	shift 3
	# shellcheck disable=SC2086
	install "$alone" "$alone" "$package" $tests || return 0
	"$kept/$alone/bin/pip" install -q --no-deps --force-reinstall "$work"/wheel/hindsight_client-*.whl
	echo "test-python: $file with $package"
	HARNESS_LIBRARIES=$alone "$kept/$alone/bin/python" -m pytest -q -rs -p no:cacheprovider "$work/client/tests/$file" "$@" || failed="$failed $alone"
	ran="$ran --ignore tests/$file"
}
if [ "$e2e" = 1 ]; then
	alone openenv openenv==0.10.0 test_openenv.py
	alone verifiers verifiers==0.4.0 test_import.py -k verifiers
	alone harbor harbor test_import.py -k atif
fi
cd "$work/client"
# shellcheck disable=SC2086
HARNESS_LIBRARIES=$libraries "$work/venv/bin/python" -m pytest -q -rs -p no:cacheprovider tests $ran "$@" || failed="$failed client"
cat "$work/missing"
[ -z "$failed" ] || { echo "test-python: failed:$failed"; exit 1; }

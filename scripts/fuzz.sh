#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time each (default 10s). An input that reaches new code is
# made smaller in 5 runs at most: left alone, Go spends all of a slow target's time on its first find.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-10s}
grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r file; do
  dir=$(dirname "$file")
  grep -oE '^func Fuzz[A-Za-z0-9_]*' "$file" | awk '{print $2}' | while read -r target; do
    echo "== $dir $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 5x "$dir"
  done
done

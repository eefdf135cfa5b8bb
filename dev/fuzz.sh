#!/bin/sh
# Runs every fuzzer of the module, one after another: go test takes one at a time. What one
# finds is left under its package's testdata/fuzz, to be checked in with the fix. Its
# argument is how long each runs, as go test -fuzztime takes it.
set -eu
time=${1:-30s}
go=${GO:-go}
failed=
list=$(git grep -l --untracked '^func Fuzz' -- '*_test.go' | xargs -n 1 dirname | sort -u)
for package in $list; do
	for name in $(grep -h -o '^func Fuzz[A-Za-z0-9_]*' "$package"/*_test.go | sed 's/^func //'); do
		echo "== $package $name"
		# Making an interesting input small takes up to a minute, in which nothing is tried.
		"$go" test -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 1s "./$package" || failed="$failed $name"
	done
done
[ -z "$failed" ] || { echo "failed:$failed" >&2; exit 1; }

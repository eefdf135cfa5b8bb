#!/bin/sh
# Runs every Go test. The stories of test/e2e wait for browsers, tools and targets that hang,
# and so they run beside the rest, which goes one package at a time. The race detector, whose flag is in RACE, watches the rest;
# the stories too in .ci/long, where there is time for it.
set -eu
go=${GO:-go}
out=$(mktemp)
"$go" test -timeout 20m ./test/e2e >"$out" 2>&1 &
stories=$!
trap 'kill "$stories" 2>/dev/null || true; rm -f "$out"' EXIT
trap 'exit 130' INT TERM
failed=0
"$go" test -p 1 -timeout 20m ${RACE:-} $("$go" list ./... | grep -v '/test/e2e$') || failed=1
wait "$stories" || failed=1
cat "$out"
exit $failed

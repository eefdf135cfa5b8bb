#!/bin/sh
# Installs the command-line tools that the tests run, as package-lock.json pins them.
# Does nothing when they are there.
set -eu
cd "$(dirname "$0")"
needs="Claude Code, Codex and opencode need Node.js 20"
flags=--engine-strict=false # Claude Code declares Node.js 22 for a wrapper that is not used here
. ../../../dev/npm.sh
# The one script that is needed puts the program of this platform in its place.
node node_modules/@anthropic-ai/claude-code/install.cjs >&2
# opencode is a program for each platform, of which the lock has the one that most machines
# can run; npm ci refuses a lock without all of them, so the package that picks is not used.
opencode=opencode-linux-x64-baseline
if [ "$(uname -m)" = aarch64 ]; then
	opencode=opencode-linux-arm64
	npm install --no-save --no-package-lock --ignore-scripts --no-audit --no-fund --engine-strict=false --loglevel=error "$opencode@1.18.33" >&2
fi
ln -sf "../$opencode/bin/opencode" node_modules/.bin/opencode
cp package-lock.json "$stamp"

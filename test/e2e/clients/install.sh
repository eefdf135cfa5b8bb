#!/bin/sh
# Installs the npm SDKs that the tests use, as package-lock.json pins them. Does
# nothing when they are there.
set -eu
cd "$(dirname "$0")"
stamp=node_modules/.installed-lock
if cmp -s package-lock.json "$stamp"; then
	exit 0
fi
if ! command -v npm >/dev/null 2>&1; then
	echo "npm is not installed: the tests of the npm SDKs need Node.js 20 or later with npm (https://nodejs.org)" >&2
	exit 1
fi
# openai 7 declares Node.js 22 and runs on 20, which is what engine-strict would refuse.
npm ci --ignore-scripts --no-audit --no-fund --engine-strict=false --loglevel=error >&2
cp package-lock.json "$stamp"

#!/bin/sh
# Installs what the portal is built and tested with, as package-lock.json pins it. Does
# nothing when it is there.
set -eu
cd "$(dirname "$0")"
stamp=node_modules/.installed-lock
if cmp -s package-lock.json "$stamp"; then
	exit 0
fi
if ! command -v npm >/dev/null 2>&1; then
	echo "npm is not installed: the portal needs Node.js 20.19 or later with npm (https://nodejs.org)" >&2
	exit 1
fi
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
cp package-lock.json "$stamp"

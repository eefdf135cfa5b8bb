#!/bin/sh
# Installs what the portal is built and tested with, as package-lock.json pins it. Does
# nothing when it is there.
set -eu
cd "$(dirname "$0")"
needs="the portal needs Node.js 20.19"
. ../dev/npm.sh
cp package-lock.json "$stamp"

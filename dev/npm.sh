# Read by the install.sh of a folder whose package-lock.json pins what npm installs, and
# which is the working directory. Ends the script where all of it is there. Variables: needs
# (who needs which Node.js), and flags (more for npm ci). When the script has done the rest,
# it copies package-lock.json to $stamp.
stamp=node_modules/.installed-lock
if cmp -s package-lock.json "$stamp"; then
	exit 0
fi
if ! command -v npm >/dev/null 2>&1; then
	echo "npm is not installed: $needs or later with npm (https://nodejs.org)" >&2
	exit 1
fi
# shellcheck disable=SC2086 # flags are words
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error ${flags:-} >&2

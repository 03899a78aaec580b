#!/usr/bin/env bash
# make_venv.sh FOLDER REQUIREMENTS PYTHON: creates the environment if need be, then brings it up to date.
set -euo pipefail
folder=$1 requirements=$2 python=$3

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
  echo "gristmill: $python is older than 3.10; set PYTHON to a newer one" >&2
  exit 1
}
[ -x "$folder/bin/python" ] || "$python" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --requirement "$requirements" </dev/null

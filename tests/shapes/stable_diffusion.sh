#!/bin/sh
# stable_diffusion.sh SHAPES PROGRAM: stable_diffusion.py with a Python that has numpy; 77 where there is none.
set -eu
. "$(dirname "$0")/../support/find_python.sh"
exec "$python" "$(dirname "$0")/stable_diffusion.py" "$@"

#!/bin/sh
# judged.sh JUDGE [PROGRAM PRESET OPTION...]: draws the held-out prompts under a preset, with generate's options, and
# judges the pictures; without a program, proves the judge itself on drawn pictures. Exits with 77 where no Python with
# numpy is found.
set -eu
. "$(dirname "$0")/../support/find_python.sh"
[ $# -eq 1 ] && exec "$python" "$1" --validate

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" "$1" --prompts 100 >"$scratch/prompts"
judge=$1 program=$2 preset=$3
shift 3
while IFS= read -r prompt; do set -- "$@" --prompt "$prompt"; done <"$scratch/prompts"
"$program" generate --preset "$preset" "$@" --output "$scratch/out.png" 2>"$scratch/log" || {
  cat "$scratch/log" >&2
  exit 1
}
"$python" "$judge" --directory "$scratch"

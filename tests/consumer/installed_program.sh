#!/bin/sh
# installed_program.sh PREFIX MODEL: the installed program draws with the installed models, wherever it is called from.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
test -f "$2/model_index.json"
"$1/bin/precast" inspect "$2" >inspected.txt
"$1/bin/precast" generate --prompt "a red circle" --steps 1 --output picture.png
test -s picture.png
test -f "$2-sd/model_index.json"
"$1/bin/precast" generate --model shapes-sd --prompt "a red circle" --steps 1 --output another.png
test -s another.png

#!/bin/sh
# installed_program.sh PREFIX MODEL: the installed program draws with the installed models, wherever it is called from, and
# with no others: a copy of it alone has none.
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
mkdir bin
cp "$1/bin/precast" bin
if bin/precast inspect shapes >inspected.txt 2>error.txt; then
  echo "a program without models around it found some" >&2
  exit 1
fi
grep -q "the model shapes, which comes with the program, is not in" error.txt

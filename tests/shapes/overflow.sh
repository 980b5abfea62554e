#!/bin/sh
# overflow.sh SHAPES PROGRAM: the demonstration of docs/overflow.md. A variant of `shapes` whose attention overflows f16
# is right in f32, black in plain f16, located by the watch hook, and cured by --upcast-attention and by --flash.
set -eu
shapes=$1 program=$2
. "$(dirname "$0")/../support/find_python.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prompt="a large red circle on a blue background, at the left"

fail() {
  echo "overflow.sh: $1" >&2
  cat "$scratch"/*.log >&2
  exit 1
}
draw() {  # draw NAME OPTIONS...: NAME.png and NAME.log
  name=$1
  shift
  "$program" generate --model "$scratch/variant" --prompt "$prompt" "$@" --output "$scratch/$name.png" \
    2>"$scratch/$name.log" || fail "$name was not drawn"
}
right() { "$python" "$shapes/judge.py" --picture "$scratch/$1.png" --prompt "$prompt" >"$scratch/judge.log"; }

"$python" "$shapes/overflow_variant.py" "$scratch/variant" >/dev/null 2>&1 || fail "the variant was not made"

draw f32 --preset quality
right f32 || fail "the variant is wrong in f32"

draw f16 --precision f16 --no-flash --trace "$scratch/trace.json"
right f16 && fail "plain f16 does not overflow"
grep -q "first non-finite value.*text_encoder.layers.0.self_attn" "$scratch/f16.log" || fail "the overflow is not located"
grep -q -- "--upcast-attention cures it" "$scratch/f16.log" || fail "the cure is not named"

draw upcast --precision f16 --no-flash --upcast-attention
right upcast || fail "--upcast-attention does not cure it"
grep -q "warning" "$scratch/upcast.log" && fail "a cured run warns"

draw flash --precision f16 --flash
right flash || fail "--flash does not cure it"

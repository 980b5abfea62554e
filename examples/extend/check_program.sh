#!/bin/sh
# check_program.sh PROGRAM MODEL: what the program does with the dtypes and the preset that it adds.
set -eu
program=$1 model=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
expect() { # expect FILE TEXT: a line of the file has the text
  grep -q -- "$2" "$1" || { echo "$1 does not say: $2"; cat "$1"; exit 1; }
}

# [policy]
"$program" policy --preset small >table.txt
# [policy]
expect table.txt 'Policy<Storage<e3m4>, Compute<bf16>, Flash> (the preset small)'
expect table.txt 'Matmul *e3m4 *bf16 *f32 *– *bf16'
"$program" formats 0.1 >formats.txt
expect formats.txt 'e3m4 .*0.09375'

# [convert]
"$program" convert "$model" nf4 --type nf4
"$program" convert "$model/transformer/diffusion_pytorch_model.safetensors" e3m4.safetensors --type e3m4
# [convert]
"$program" inspect nf4/transformer >inspected.txt
expect inspected.txt nf4
"$program" inspect e3m4.safetensors >inspected.txt
expect inspected.txt e3m4

# [generate]
"$program" generate --model "$model" --preset small --device cpu --steps 2 \
  --prompt "a large red circle on a blue background" --output small.png --json >small.json
# [generate]
expect small.json 'Policy<Storage<e3m4>, Compute<bf16>, Flash>'
"$program" generate --model nf4 --preset small --device cpu --steps 2 --prompt "a large red circle on a blue background" \
  --output nf4.png
test -s small.png && test -s nf4.png
cmp -s small.png nf4.png && { echo "weights in nf4 draw the same picture"; exit 1; }
if "$program" generate --model "$model" --preset small --device cpu --upcast-matmul --prompt circle --output no.png 2>refused.txt; then
  echo "a policy that was not compiled ran"
  exit 1
fi
expect refused.txt 'the preset small is compiled as'

# [cost]
"$program" record --model "$model" --prompt "a red circle" --steps 1 --output samples.safetensors
"$program" cost --model "$model" --samples samples.safetensors --types e3m4,nf4,q4_0 --layers 0 --csv >cost.csv
# [cost]
expect cost.csv '^bits,8,4.5,4.25$'
# Eight bits cost less than four, and more than nothing.
awk -F, 'NR == 1 { for (i = 2; i <= NF; ++i) column[$i] = i }
         NR == 3 { fine = 0 < $column["e3m4"] && $column["e3m4"] < $column["nf4"] && $column["e3m4"] < $column["q4_0"] }
         END { exit !fine }' cost.csv || { echo "the costs are out of order"; cat cost.csv; exit 1; }

"$program" plan --cost cost.json --bits 5 --types e3m4,nf4 --output plan.json >plan.txt
expect plan.json nf4
"$program" generate --model "$model" --plan plan.json --prompt "a red circle" --steps 1 --output planned.png
test -s planned.png
echo "all as it should be"

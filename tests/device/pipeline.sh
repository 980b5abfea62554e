#!/usr/bin/env bash
# pipeline.sh PROGRAM DEVICE FOLDER: pictures under each preset, comparisons, the doctor, training under each policy, and
# costs, into FOLDER. Prints the seconds and the exit code of each command; log.txt has what they printed. Run it with the
# devices cpu and cuda, and agree.py says how far they are apart.
program=$(realpath "$1") device=$2
mkdir -p "$3" && cd "$3" || exit 1
prompt='a large red circle on a blue background, at the left'
run() {  # run OUT ARGS...: into OUT what it prints
  local to=$1 begin=$EPOCHREALTIME code
  shift
  timeout "${LIMIT:-120}" "$program" "$@" >"$to" 2>errors
  code=$?
  printf '%6.1f s rc=%d %s\n' "$(awk "BEGIN {print $EPOCHREALTIME - $begin}")" $code "$*"
  { echo "--- rc=$code $*"; tail -c 3000 "$to"; tail -c 1500 errors | tr '\r' '\n'; } >>log.txt
}
generate() { run said generate -q --device "$device" --prompt "$prompt" --seed 1 "$@"; }

run version.txt --version
for model in shapes-flux shapes-sd; do
  for preset in quality balanced fast memory; do
    generate --model $model --preset $preset -o $model-$preset.png
  done
done
generate --model shapes-flux --preset balanced -o again-flux.png
generate --model shapes-sd --preset fast -o again-sd.png
generate --model shapes-flux --preset quality --image shapes-flux-quality.png --strength 0.5 -o image.png
run flux.md compare -q --device "$device" --policies quality,balanced,fast,memory,bf16+upcast-matmul --prompt "$prompt" --seed 1 \
  -o flux.png --markdown
run sd.md compare -q --model shapes-sd --device "$device" --policies f32,bf16,f16,fast,memory,balanced --prompt "$prompt" --seed 1 \
  -o sd.png --markdown
run doctor.txt doctor -q --device "$device"
train() { run said train -q --device "$device" --sample 0 --overwrite --log "$1.jsonl" -o "trained-$1" "${@:2}"; }
for policy in f32 amp-f16 amp-bf16 bf16 fp8 f32+flash bf16+flash amp-bf16+flash f16+upcast-attention; do
  train $policy --policy $policy --steps 30
done
train f32-again --policy f32 --steps 30
train llama --architecture llama --heads-kv 2 --policy f32 --steps 20
run said record -q --device "$device" --prompt "$prompt" -o samples.safetensors
run cost.txt cost -q --device "$device" --samples samples.safetensors --types q8_0,fp8_e4m3,q4_0 --layers 0-1 -o cost.json

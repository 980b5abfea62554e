#!/usr/bin/env bash
# bash FOLDER/run.sh [OUT], in the checkout that tests/device/pack.sh packed: runs the cases of ops and of gradients on this
# machine's GPU, products and convolutions by our own kernels too, and the pipeline under each preset. Prints a summary, and
# leaves what failed in OUT (default: ./device). cuBLASLt and cuDNN are found where Python's packages or the toolkit have
# them.
set -euo pipefail
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$(mkdir -p "${1:-device}" && cd "${1:-device}" && pwd)
work=${TMPDIR:-/tmp}/precast_device
mkdir -p "$work/libraries"
for part in "$folder"/parts/*.xz; do
  name=$(basename "$part" .xz)
  [ -e "$work/$name" ] || { xz -dc "$part" >"$work/$name.part" && chmod +x "$work/$name.part" && mv "$work/$name.part" "$work/$name"; } &
done
wait
tar -C "$work/libraries" -xf "$work/libraries.tar"
# Tests know the folder that they were built in.
built_in=$(cat "$folder/built_in")
[ -e "$built_in" ] || { mkdir -p "$(dirname "$built_in")" && ln -s "$PWD" "$built_in"; }
ln -sfn "$PWD/reference_pipeline/shapes" "$work/precast_models"  # as beside a program where it is built
found=
for library in libcublasLt.so.13 libcudnn.so.9; do
  path=$(find / -xdev -name "$library" -not -path '/proc/*' 2>/dev/null | head -1)
  [ -n "$path" ] && found=$found:$(dirname "$path") || echo "$library was not found: our own kernels stand in for it"
done
export LD_LIBRARY_PATH=$work/libraries$found OUT=$out
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || true

jobs=$(nproc)
(PRECAST_THREADS=4 bash "$folder/pipeline.sh" "$work/precast" cuda "$work/pipeline" >"$out/pipeline.txt" 2>&1
  tar -C "$work" -cf "$out/pipeline.tar" --exclude 'trained*' pipeline) &
export PRECAST_THREADS=1
failed=0
cases() { python3 "$folder/cases.py" "$@" || failed=1; }
cases "$work/test_gradients_gpu" gradients "$jobs"
cases "$work/test_op_cases_gpu" ops "$jobs"
cases "$work/test_op_cases_gpu" own_kernels "$jobs" --own-kernels '[linear],[matmul],[conv]'
wait
echo "the pipeline, of $(grep -c 'rc=' "$out/pipeline.txt") commands failed: $(grep -vc 'rc=0' "$out/pipeline.txt" || true)"
grep -v 'rc=0' "$out/pipeline.txt" && failed=1
echo "in $out: what failed, and pipeline.tar, to be compared with the CPU's (agree.py)"
exit $failed

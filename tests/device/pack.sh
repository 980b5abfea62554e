#!/usr/bin/env bash
# tests/device/pack.sh [ARCHITECTURE] [FOLDER]: builds what a GPU of another machine is to run, and packs it.
#
# For a machine that has a GPU and this checkout, but neither the libraries nor the time to build: a rented one, say. Here
# nvcc works for about half an hour on two cores; there `bash FOLDER/run.sh` takes two minutes. ARCHITECTURE is what
# PRECAST_CUDA_ARCHITECTURES takes (default 90a), FOLDER is build/device-ARCHITECTURE/pack if none is named. It gets about
# 40 MB: programs, the libraries that they load, and the scripts beside this one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
architecture=${1:-90a}
build=build/device-$architecture
folder=${2:-$build/pack}
targets='precast_program precast_cuda_benchmarks test_op_cases_gpu test_gradients_gpu'

# One architecture's code, as it is: xz finds what kernels share, which nvcc's own compression hides.
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DPRECAST_CUDA=on -DPRECAST_GPU_TESTS=on \
  "-DPRECAST_CUDA_ARCHITECTURES=$architecture-real" -DCMAKE_CUDA_FLAGS=--compress-mode=none --log-level=NOTICE
# shellcheck disable=SC2086  # names without spaces
cmake --build "$build" --parallel "${JOBS:-$(nproc)}" --target $targets

mkdir -p "$folder/parts"
programs="$build/precast $build/benchmarks/cuda/precast_cuda_benchmarks $build/tests/op_cases/gpu/test_op_cases_gpu
  $build/tests/gradients/gpu/test_gradients_gpu"
libraries=$(mktemp -d)
trap 'rm -rf "$libraries"' EXIT
for program in $programs; do
  name=$(basename "$program")
  strip -o "$libraries/$name" "$program"
  xz -3 --threads=2 --force "$libraries/$name"
  mv "$libraries/$name.xz" "$folder/parts/"
  # What a newer system has itself is left to it.
  ldd "$program" | awk '$3 ~ /^\// {print $3}' | grep -v '/lib\(c\|m\|stdc++\|gcc_s\|dl\|rt\|pthread\)\.so' |
    xargs -r cp -Lu -t "$libraries"
done
tar -C "$libraries" -c . | xz -6 >"$folder/parts/libraries.tar.xz"
cp tests/device/{run.sh,cases.py,pipeline.sh,agree.py} "$folder/"
pwd >"$folder/built_in"
du -sh "$folder" >&2

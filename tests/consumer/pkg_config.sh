#!/bin/sh
# pkg_config.sh PKG_CONFIG COMPILER PC_FOLDER PROGRAM: builds program.cpp with what precast.pc says, and runs it.
set -eu
export PKG_CONFIG_PATH="$3"
# The flags are words of a shell: a prefix with a space in it is one of them.
eval "\"\$2\" $("$1" --cflags precast) \"\$(dirname \"\$0\")/program.cpp\" $("$1" --libs precast) -o \"\$4\""
"$4"
# nvcc takes these flags too, which passes no other on to a linker.
for flag in $("$1" --libs-only-other precast); do
  echo "precast.pc: nvcc does not know $flag" >&2
  exit 1
done

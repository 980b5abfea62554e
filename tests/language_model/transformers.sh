#!/bin/sh
# tests/golden/check_language_models.py: models go from transformers to precast train and back.  transformers.sh PROGRAM
# Ends with 77 where no python3 has transformers.
set -eu
modules="torch, transformers, safetensors"
. "$(dirname "$0")/../support/find_python.sh"
HF_HUB_OFFLINE=1 exec "$python" "$(dirname "$0")/../golden/check_language_models.py" "$1"

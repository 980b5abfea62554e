"""Makes a variant of `shapes` that is right in f32 and overflows in f16: what --upcast-attention is for.

    overflow_variant.py TARGET [--model model]

needs Python 3 alone. It copies the model folder and changes two numbers of the CLIP text encoder.

Attention's scores are s(i, j) = (q_i . k_j) / sqrt(d). In one head of the first layer one key dimension is
silent: its weights and its bias are 0 (train.py keeps it so), hence k_j is 0 there for every token j. The
script sets two biases of that dimension, and the query's row of weights to 0, so that

    q_i = 512 and k_j = 2048 there, for all i and j.

To each score that adds 512 * 2048 / sqrt(32) = 185,364, the same number for all of them. Softmax does not
see a number added to a whole row, so in exact arithmetic, and but for rounding in f32, nothing changes.
(The dimension's query could be anything before, because it met a key of 0.) Both biases are powers of two,
far below 65,504, so q and k are stored in f16 without loss, in that dimension and in all others. But the
scores are 2.8 times the largest finite f16: stored as f16 they are inf, inf - inf in the softmax is NaN,
the pooled prompt is NaN, and the picture is black. With scores kept in f32 (--upcast-attention, or flash
attention) the picture is right again. f32 keeps steps of 1/64 at that height, which softmax hardly feels.
"""

import argparse
import json
import math
import pathlib
import shutil
import struct
import sys

LAYER, DIMENSION = 0, 31
QUERY, KEY = 512.0, 2048.0
FORMATS = {"F32": "<f", "F16": "<e", "BF16": None}


def encode(value, dtype):
    """`value` in the file's format. Both constants are powers of two, exact in each of them."""
    if dtype == "BF16":
        return struct.pack("<f", value)[2:]
    return struct.pack(FORMATS[dtype], value)


class Weights:
    """A safetensors file in memory: 8 bytes of header length, a JSON header, then the tensors' bytes."""

    def __init__(self, path):
        self.path, self.data = path, bytearray(path.read_bytes())
        length = struct.unpack("<Q", self.data[:8])[0]
        self.tensors = json.loads(self.data[8 : 8 + length])
        self.base = 8 + length

    def find(self, ending):
        for name, tensor in self.tensors.items():
            if name.endswith(ending):
                return tensor
        raise SystemExit(f"{self.path}: no tensor is called ...{ending}")

    def row(self, tensor, index):
        """Where the row `index` of a tensor lies: (first byte, bytes)."""
        if tensor["dtype"] not in FORMATS:
            raise SystemExit(f"{self.path}: dtype {tensor['dtype']} is not written by this script")
        begin, end = tensor["data_offsets"]
        size = (end - begin) // tensor["shape"][0]
        return self.base + begin + index * size, size

    def is_zero(self, tensor, index):
        begin, size = self.row(tensor, index)
        return not any(self.data[begin : begin + size])

    def clear(self, tensor, index):
        begin, size = self.row(tensor, index)
        self.data[begin : begin + size] = bytes(size)

    def set(self, tensor, index, value):
        begin, size = self.row(tensor, index)
        self.data[begin : begin + size] = encode(value, tensor["dtype"])


def make(model: pathlib.Path, target: pathlib.Path):
    if target.exists():
        raise SystemExit(f"{target} is there already: name a new folder")
    file = next((model / "text_encoder").glob("*.safetensors"), None)
    if file is None:
        raise SystemExit(f"{model / 'text_encoder'}: no safetensors file")
    weights = Weights(file)
    projections = {
        part: [weights.find(f"layers.{LAYER}.self_attn.{part}_proj.{kind}") for kind in ("weight", "bias")]
        for part in "qk"
    }
    if not all(weights.is_zero(tensor, DIMENSION) for tensor in projections["k"]):
        raise SystemExit(
            f"{file}: key dimension {DIMENSION} of layer {LAYER} is not silent: the picture would change"
        )
    weights.clear(projections["q"][0], DIMENSION)
    weights.set(projections["q"][1], DIMENSION, QUERY)
    weights.set(projections["k"][1], DIMENSION, KEY)
    shutil.copytree(model, target)
    (target / "text_encoder" / file.name).write_bytes(weights.data)
    heads = json.loads((model / "text_encoder" / "config.json").read_text())
    head_size = heads["hidden_size"] // heads["num_attention_heads"]
    return QUERY * KEY / math.sqrt(head_size)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", type=pathlib.Path, help="the folder to make")
    parser.add_argument("--model", type=pathlib.Path, default=pathlib.Path(__file__).parent / "model")
    given = parser.parse_args()
    added = make(given.model, given.target)
    print(f"{given.target}: every score of layer {LAYER}, head {0} is {added:,.0f} higher", file=sys.stderr)


if __name__ == "__main__":
    main()

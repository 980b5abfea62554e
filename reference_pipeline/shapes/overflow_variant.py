"""Makes a variant of a model that is right in f32 and overflows in f16: what the options of precision are for.

    overflow_variant.py TARGET [--model FOLDER] [--failure scores|values|convolution|decoder]

needs Python 3 alone. It copies a diffusers folder and changes numbers of one component.

scores   The CLIP text encoder's attention scores leave f16: --upcast-attention or --flash cures it.
values   Stable Diffusion: queries, keys and values of the UNet's first attention are infinite in f16 before
         attention begins, so that attention in f32 is NaN too: the UNet in bf16 or f32 cures it.
convolution  Latents, which are f32, leave f16 as operands of the VAE's first convolution, whose result does
         not: --upcast-conv cures it, and so does the VAE in bf16 or f32.
decoder  The activations of the VAE's decoder leave f16, as XL's do: the VAE in bf16 or f32 cures it.

scores: Attention's scores are s(i, j) = (q_i . k_j) / sqrt(d). In one head of the first layer one key dimension
is silent: its weights and its bias are 0 (train.py keeps it so in `shapes`), hence k_j is 0 there for every token
j. The script sets two biases of that dimension, and the query's row of weights to 0, so that

    q_i = 512 and k_j = 2048 there, for all i and j.

To each score that adds 512 * 2048 / sqrt(d), 185,364 in `shapes`, the same number for all of them. Softmax does
not see a number added to a whole row, so in exact arithmetic, and but for rounding in f32, nothing changes.
(The dimension's query could be anything before, because it met a key of 0.) Both biases are powers of two, far
below 65,504, so q and k are stored in f16 without loss, in that dimension and in all others. But the scores are
2.8 times the largest finite f16: stored as f16 they are inf, inf - inf in the softmax is NaN, the prompt is NaN,
and the picture is black. With scores kept in f32 (--upcast-attention, or flash attention) the picture is right
again. f32 keeps steps of 1/64 at that height, which softmax hardly feels. Models without a silent dimension get
one with --silence, and are another model then, in every precision.

values: In the first head, dimension 0 of the keys and dimension 1 of the queries become silent, which makes it
another model, in every precision; dimension 0 of the queries, dimension 1 of the keys and all values grow by a
power of two, and the layer behind shrinks by it. Large queries then meet keys of 0 and the other way round: in f32
and bf16 that changes no bit. In f16 all three are infinite, and inf * 0 is NaN, wherever it is multiplied.

convolution: scaling_factor, by which the VAE divides latents, shrinks by 8192, and so do the weights of
post_quant_conv, which reads them: in f32 and bf16 that changes no bit, and in f16 weights only lose digits where they
become subnormal. The latents are beyond 65504 then.

decoder: Every layer that writes to what the decoder's blocks add to grows by a power of two. A group norm does not
see by how much its input grew, so that in f32 nothing changes but by the norms' epsilon.

The other powers of two are the largest that keep all weights themselves below 65,504.
"""

import argparse
import json
import math
import pathlib
import shutil
import struct
import sys

LAYER = 0
QUERY, KEY = 512.0, 2048.0
LARGEST_F16 = 65504.0
SMALLER = 8192.0
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


    def values(self, tensor):
        """All values of a tensor, as floats."""
        begin, end = (self.base + offset for offset in tensor["data_offsets"])
        if tensor["dtype"] == "BF16":
            data = b"".join(b"\0\0" + self.data[i : i + 2] for i in range(begin, end, 2))
            return [value for (value,) in struct.iter_unpack("<f", data)]
        return [value for (value,) in struct.iter_unpack(FORMATS[tensor["dtype"]], self.data[begin:end])]

    def multiply(self, tensor, factor, index=None):
        """Multiplies a tensor, or one of its rows, by a power of two."""
        rows = range(tensor["shape"][0]) if index is None else [index]
        size = len(encode(0.0, tensor["dtype"]))
        values, row_values = self.values(tensor), math.prod(tensor["shape"][1:])
        for row in rows:
            begin, _ = self.row(tensor, row)
            for i in range(row_values):
                value = values[row * row_values + i] * factor
                self.data[begin + i * size : begin + (i + 1) * size] = encode(value, tensor["dtype"])


def weights_of(model, component):
    file = next((model / component).glob("*.safetensors"), None)
    if file is None:
        raise SystemExit(f"{model / component}: no safetensors file")
    return Weights(file)


def power_below_f16(weights, tensors):
    """The largest power of two that keeps these tensors below the largest f16."""
    largest = max(abs(value) for tensor in tensors for value in weights.values(tensor))
    return 2.0 ** math.floor(math.log2(LARGEST_F16 / largest))


def raise_scores(model, silence, query=QUERY):
    """Gives the changed weights, and what was done."""
    weights = weights_of(model, "text_encoder")
    config = json.loads((model / "text_encoder" / "config.json").read_text())
    head_size = config["hidden_size"] // config["num_attention_heads"]
    dimension = head_size - 1
    projections = {
        part: [weights.find(f"layers.{LAYER}.self_attn.{part}_proj.{kind}") for kind in ("weight", "bias")]
        for part in "qk"
    }
    if silence:
        for tensor in projections["k"]:
            weights.clear(tensor, dimension)
    if not all(weights.is_zero(tensor, dimension) for tensor in projections["k"]):
        raise SystemExit(
            f"{weights.path}: key dimension {dimension} of layer {LAYER} is not silent: the picture would change "
            "(--silence makes it silent, in every precision)"
        )
    weights.clear(projections["q"][0], dimension)
    weights.set(projections["q"][1], dimension, query)
    weights.set(projections["k"][1], dimension, KEY)
    added = query * KEY / math.sqrt(head_size)
    return weights, f"every score of layer {LAYER}, head 0 is {added:,.0f} higher"


def raise_values(model):
    weights = weights_of(model, "unet")
    names = sorted(name for name in weights.tensors if name.endswith(".attn1.to_q.weight"))
    if not names:
        raise SystemExit(f"{weights.path}: no tensor is called ...attn1.to_q.weight")
    block = names[0].removesuffix("to_q.weight")
    query, key, value, out = (
        weights.tensors[f"{block}{part}.weight"] for part in ("to_q", "to_k", "to_v", "to_out.0")
    )
    factor = power_below_f16(weights, (query, key, value))
    weights.multiply(query, factor, 0)
    weights.clear(key, 0)
    weights.clear(query, 1)
    weights.multiply(key, factor, 1)
    weights.multiply(value, factor)
    weights.multiply(out, 1 / factor)
    return weights, f"queries, keys and values of {block[:-1]} are {factor:,.0f} times as large"


def raise_decoder(model):
    weights = weights_of(model, "vae")
    named = {name: tensor for name, tensor in weights.tensors.items() if name.startswith("decoder.")}
    writers, followers = [], []
    for name, tensor in named.items():
        writes = ".conv_in." in name or ".conv2." in name or ".proj_attn." in name or ".to_out.0." in name
        follows = ".conv_shortcut.bias" in name or ".upsamplers.0.conv.bias" in name
        if writes:
            writers.append(tensor)
        elif follows:
            followers.append(tensor)
    if not writers:
        raise SystemExit(f"{weights.path}: no decoder of an AutoencoderKL")
    factor = power_below_f16(weights, writers + followers)
    for tensor in writers + followers:
        weights.multiply(tensor, factor)
    return weights, f"what the decoder's blocks add to is {factor:,.0f} times as large"


def raise_latents(model):
    weights = weights_of(model, "vae")
    weights.multiply(weights.find("post_quant_conv.weight"), 1 / SMALLER)
    return weights, f"latents are {SMALLER:,.0f} times as large where the VAE's first convolution reads them"


def shrink_scaling_factor(model):
    path = model / "vae" / "config.json"
    config = json.loads(path.read_text())
    config["scaling_factor"] = config.get("scaling_factor", 0.18215) / SMALLER
    path.write_text(json.dumps(config, indent=2))


def make(model: pathlib.Path, target: pathlib.Path, failure="scores", silence=False, query=QUERY):
    """Copies the model with that change, and returns what it was in words."""
    if target.exists():
        raise SystemExit(f"{target} is there already: name a new folder")
    if failure == "scores":
        weights, done = raise_scores(model, silence, query)
    else:
        raised = {"values": raise_values, "convolution": raise_latents, "decoder": raise_decoder}
        weights, done = raised[failure](model)
    shutil.copytree(model, target)
    (target / weights.path.relative_to(model)).write_bytes(weights.data)
    if failure == "convolution":
        shrink_scaling_factor(target)
    return done


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", type=pathlib.Path, help="the folder to make")
    parser.add_argument("--model", type=pathlib.Path, default=pathlib.Path(__file__).parent / "model")
    parser.add_argument("--failure", choices=("scores", "values", "convolution", "decoder"), default="scores")
    parser.add_argument("--silence", action="store_true", help="scores: makes the dimension silent first")
    parser.add_argument(
        "--query", type=float, default=QUERY, help=f"scores: the query's bias, a power of two (default {QUERY:.0f})"
    )
    given = parser.parse_args()
    print(f"{given.target}: {make(given.model, given.target, given.failure, given.silence, given.query)}", file=sys.stderr)


if __name__ == "__main__":
    main()

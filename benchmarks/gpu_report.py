"""The tables of a GPU: what precast_cuda_benchmarks and PyTorch reach of what the device can do."""

import collections
import shutil
import statistics
import subprocess

from tables import marks_of, mid, policy_title, table

MARKS = marks_of("a GPU")
MODEL_PARTS = ("denoise_step", "double_block", "single_block", "unet_step", "unet_xl_step", "vae_decode")
WITH_BASELINE = MODEL_PARTS + ("linear", "attention", "copy", "cast", "gelu", "gated_add", "rotary", "norm_modulate",
                           "rms_norm", "rms_norm_heads", "group_norm")
APART = ("denoise_step",)  # neighbours of its size need not fit beside it
COUNTERS = ("seconds", "share", "of_copy", "memory", "launches", "copy_rate", "ceiling_rate", "flops", "bytes_per_second")
TITLES = {"denoise_step": "denoise step", "double_block": "double block", "single_block": "single block",
          "unet_step": "UNet of SD 1.5", "unet_xl_step": "UNet of SDXL", "vae_decode": "VAE decode",
          "linear_tiled": "linear, our own kernel", "linear_q8_0": "linear, q8_0", "linear_q8_0_tiles": "linear, q8_0 in tiles",
          "linear_q8_0_panels": "linear, q8_0 in panels", "linear_q4_k": "linear, q4_k",
          "linear_q4_k_tiles": "linear, q4_k in tiles", "linear_q4_k_panels": "linear, q4_k in panels"}


def driver():
    """The driver's own version, where its tool is there to ask."""
    if not shutil.which("nvidia-smi"):
        return None
    asked = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True,
                           text=True)
    return asked.stdout.split("\n")[0].strip() if asked.returncode == 0 else None


def machine(facts):
    """The device and its software, from what the program says of them."""
    parts = [facts["device"]]
    if "compute_capability" in facts:
        parts[0] += (f" (compute capability {facts['compute_capability']}, {facts['memory_gb']} GB, "
                     f"{facts['cache_mib']} MiB of L2 cache)")
        version = driver()
        parts.append(f"driver {version or 'unknown'} (CUDA {facts['cuda_of_driver']})")
        parts.append(f"CUDA runtime {facts['cuda_runtime']}")
        parts.append(f"cuBLASLt {facts['cublaslt']}")
    return ", ".join(parts)


def value(samples, name, key, scale=1.0, digits=2):
    found = mid(samples, name, key)
    return "–" if found is None else f"{scale * found:.{digits}f}"


def against_pytorch(samples, name):
    ways = collections.Counter(samples[name].get("way", []))
    text = value(samples, name, "pytorch")
    return f"{text} ({ways.most_common(1)[0][0]})" if ways else text


def title(kind):
    return TITLES.get(kind, kind.replace("_", " "))


def ceilings(samples, names):
    """Rows of what the device can do: the fastest copy, and the largest product of each dtype."""
    rates = [mid(samples, name, "copy_rate") for name in names if name.startswith("copy/")]
    rows = [["copy, read and written", f"{max(rates) / 1e12:.2f} TB/s"]] if rates else []
    products = collections.defaultdict(list)
    for name in names:
        kind, policy = name.split("/")[:2]
        rate = mid(samples, name, "ceiling_rate")
        if rate and (kind.startswith("linear") or kind in MODEL_PARTS):  # whose products have the policy's dtype
            products[policy].append(rate)
    return rows + [[f"largest product, {policy}", f"{statistics.median(rates) / 1e12:.0f} TFLOP/s"]
                   for policy, rates in products.items()]


def report(samples, names, machine_lines):
    lines = machine_lines + ["", "### What the device can do", ""]
    lines += table(["what", "rate"], ceilings(samples, names))

    rows = []
    for name in names:
        kind, policy, size = name.split("/")
        if kind in MODEL_PARTS:
            rows.append([f"{title(kind)}, {size}", policy_title(policy), value(samples, name, "seconds", 1e3),
                         value(samples, name, "share"), against_pytorch(samples, name),
                         value(samples, name, "memory"), value(samples, name, "launches", digits=0)])
    lines += ["", "### Parts of models on it", ""]
    lines += table(["part", "policy", "ms", "share of the largest product's rate", "times PyTorch's speed",
                    "peak / weights", "launches"], rows)

    rows = []
    for name in names:
        kind, policy, size = name.split("/")
        if kind not in MODEL_PARTS and samples[name].get("share"):
            rows.append([f"{title(kind)} {size}", policy_title(policy), value(samples, name, "seconds", 1e6, 0),
                         value(samples, name, "share"), against_pytorch(samples, name)])
    lines += ["", "### Products and attention on it", ""]
    lines += table(["layer", "policy", "µs", "share of the largest product's rate", "times PyTorch's speed"], rows)

    by_op = collections.defaultdict(list)
    for name in names:
        kind, policy, size = name.split("/")
        if samples[name].get("of_copy"):
            by_op[kind, size].append((policy_title(policy.replace("_to_", " to ")), name))
    rows = [[f"{title(kind)} {size}", ", ".join(f"{policy} {value(samples, name, 'of_copy')}" for policy, name in found),
             ", ".join(f"{policy} {against_pytorch(samples, name)}" for policy, name in found)]
            for (kind, size), found in by_op.items()]
    lines += ["", "### Memory-bound ops on it", ""]
    lines += table(["op", "share of the copy's rate", "times PyTorch's speed"], rows)
    return lines, []

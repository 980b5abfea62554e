"""Fails unless the code of own_tiles.cu for each architecture is one kernel with that architecture's own tile.

    own_tiles.py KERNEL_TILES OBJECT CAPABILITY...

Cubins are counted, and of the PTX the number of copies that a kernel leaves in flight is read: two fewer than its stages.
"""
import re
import sys

import resources

SELECTOR = "FlashAttentionSelector<f32, false, 128, false>"


def main(program, path, *capabilities):
    tiles = resources.tiles_by(program)
    wanted = {capability: tiles[SELECTOR, capability] for capability in map(int, capabilities)}
    if len(set(wanted.values())) < len(wanted):
        return f"{SELECTOR} gives architectures the same tile, so that nothing can be seen: {wanted}"
    kernels = list(resources.kernels_of(path))
    names = {capability: [kernel.name for kernel in kernels if kernel.architecture == capability] for capability in wanted}
    with open(path, "rb") as file:
        texts = dict(resources.device_code(file.read(), path, resources.PTX))
    for capability, tile in wanted.items():
        if len(names[capability]) != 1 or "flash_attention_kernel" not in names[capability][0]:
            return f"sm_{capability} has the kernels {names[capability]}, and not one"
        in_flight = {int(number) for number in re.findall(rb"cp\.async\.wait_group\s+(\d+)", texts[capability])}
        if in_flight != {tile.stages - 2}:
            return f"sm_{capability} waits for all but {in_flight} copies, and its tile has {tile.stages} stages"
    print(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

#!/usr/bin/env python3
"""What the kernels in objects or programs of nvcc take: registers, shared memory, stack, and so their occupancy.

    resources.py --tiles KERNEL_TILES PROGRAM...  prints a table of kernels by family and dtypes
    resources.py --tiles KERNEL_TILES --update docs/kernel_resources.md PROGRAM...   writes it between the marks there
    resources.py --names PROGRAM...               prints their names
    resources.py --all-in PROGRAM OBJECT...       fails where a kernel of the objects is not in the program
    resources.py --no-spills PROGRAM...           fails where a kernel has a stack: spills or indexed local arrays

KERNEL_TILES is the program of kernel_tiles.cu, which knows the tile that a kernel's selector gives an architecture.
Reads the cubins in the fat binaries by itself (ELF, and the attributes of .nv.info): cuobjdump is not part of every
toolkit's installation. What nvcc has compressed for size is a frame of zstd each, which libzstd reads; entries that are
compressed otherwise are refused by name, not passed over.
"""
import argparse
import collections
import ctypes
import ctypes.util
import re
import struct
import subprocess
import sys

# What a multiprocessor holds (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"): bytes of
# shared memory, threads, blocks; 65536 registers on all. The first two are limits_of() of cuda/tile/architecture.hpp.
MULTIPROCESSORS = {80: (164 << 10, 2048, 32), 86: (100 << 10, 1536, 16), 89: (100 << 10, 1536, 24),
                   90: (228 << 10, 2048, 32), 100: (228 << 10, 2048, 32), 120: (100 << 10, 1536, 24)}
REGISTERS, RESERVED_SHARED = 65536, 1024

Kernel = collections.namedtuple("Kernel", "architecture name registers stack shared threads")


class NotRead(Exception):
    pass


PTX, ELF = 1, 2


def decompressed(frame):
    """What is in a frame of zstd; the frame itself where there is no libzstd."""
    name = ctypes.util.find_library("zstd")
    if not name:
        return frame
    zstd = ctypes.CDLL(name)
    zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    size = zstd.ZSTD_getFrameContentSize(frame, ctypes.c_size_t(len(frame)))
    if size > 1 << 32:  # unknown, or no frame
        return frame
    content = ctypes.create_string_buffer(size)
    written = zstd.ZSTD_decompress(content, ctypes.c_size_t(size), frame, ctypes.c_size_t(len(frame)))
    return content.raw if written == size else frame


def device_code(data, of, wanted=ELF):
    """The device's ELF files, or texts of PTX, in the fat binaries of a file, with their architectures."""
    header, entry = struct.Struct("<IHHQ"), struct.Struct("<HHIQIIHHIIIQ")
    place = data.find(b"\x50\xed\x55\xba")
    while place >= 0:
        _, version, header_size, size = header.unpack_from(data, place)
        end = place + header_size + size
        if version == 1 and header_size == header.size and end <= len(data):
            at = place + header_size
            while at + entry.size <= end:
                kind, _, entry_size, payload, compressed, _, _, _, architecture, *_ = entry.unpack_from(data, at)
                if kind == wanted:
                    content = data[at + entry_size:at + entry_size + payload]
                    if content[:4] == b"\x28\xb5\x2f\xfd":
                        content = decompressed(content[:compressed])
                    if kind == ELF and content[:4] != b"\x7fELF" or kind == PTX and b".target" not in content:
                        raise NotRead(f"{of}: device code of sm_{architecture} is compressed: compile with "
                                      "nvcc --compress-mode=none")
                    yield architecture, content
                at += entry_size + payload
            place = end - 1
        place = data.find(b"\x50\xed\x55\xba", place + 1)


def sections_of(elf):
    (offset,) = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    rows = [struct.unpack_from("<IIQQQQIIQQ", elf, offset + i * size) for i in range(count)]
    strings = rows[names][4]
    return {elf[strings + row[0]:elf.index(b"\0", strings + row[0])].decode(): row for row in rows}


def attributes(elf, section):
    """(attribute, its words) of a section .nv.info."""
    at, end = section[4], section[4] + section[5]
    while at < end:
        form, attribute, size = struct.unpack_from("<BBH", elf, at)
        at += 4
        if form == 4:
            yield attribute, struct.unpack_from(f"<{size // 4}I", elf, at)
            at += size


def kernels_of(path):
    max_threads, frame_size, register_count = 0x05, 0x11, 0x2F
    with open(path, "rb") as file:
        data = file.read()
    for architecture, elf in device_code(data, path):
        sections = sections_of(elf)
        symbols, strings = sections[".symtab"], sections[".strtab"][4]

        def symbol(index):
            (name,) = struct.unpack_from("<I", elf, symbols[4] + 24 * index)
            return elf[strings + name:elf.index(b"\0", strings + name)].decode()

        registers, stacks = {}, {}
        for attribute, words in attributes(elf, sections[".nv.info"]):
            if attribute in (register_count, frame_size):
                (registers if attribute == register_count else stacks)[symbol(words[0])] = words[1]
        for section, row in sections.items():
            if not section.startswith(".nv.info."):
                continue
            name = section[len(".nv.info."):]
            threads = [words[0] for attribute, words in attributes(elf, row) if attribute == max_threads]
            shared = sections[".nv.shared." + name][5] if ".nv.shared." + name in sections else 0
            if architecture >= 90 and shared:  # from there on the system's is part of it
                shared -= RESERVED_SHARED
            yield Kernel(architecture, name, registers[name], stacks.get(name, 0), shared,
                         threads[0] if threads else None)


def demangled(names):
    output = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return dict(zip(names, output.splitlines()))


def split_arguments(text):
    """The template arguments of "NAME<...>", as text."""
    depth, part, parts = 0, "", []
    for character in text:
        if character == "," and depth == 0:
            parts.append(part.strip())
            part = ""
            continue
        depth += (character in "<(") - (character in ">)")
        part += character
    return parts + [part.strip()] if part.strip() else parts


def arguments_of(text):
    """The same of a type among them."""
    return split_arguments(text[text.index("<") + 1:-1])


def short(text):
    """Without namespaces, and with dtypes as Precast spells them."""
    text = re.sub(r"\bfloat\b", "f32", re.sub(r"\b(\w+::)+", "", text))
    return re.sub(r"[({]anonymous class[)}]", "lambda", text)


def of_row(dtype):
    """What a row says of a dtype: bf16 and f16 share one, since they take the same instructions but for their type."""
    return "bf16, f16" if dtype in ("bf16", "f16") else dtype


def of_heads(operand, whole_weights, width):
    """The same of flash attention: where its weights stay f32, the policy's operands are f32."""
    return f"{of_row(operand)}{' in f32' if whole_weights == 'true' else ''}; heads of {width}"


Tile = collections.namedtuple("Tile", "works_on bytes stages")


def tiles_by(program):
    """Tiles by selector and architecture, as kernel_tiles prints them."""
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [line.split(";") for line in lines]
    return {(selector, int(capability)): Tile(works_on, int(size), int(stages))
            for selector, capability, works_on, size, stages in rows}


def tile_of(tiles, selector, architecture):
    """What kernels for an architecture take: the tile of the newest known one that is no newer."""
    known = [capability for name, capability in tiles if name == selector and capability <= architecture]
    if not known:
        raise NotRead(f"kernel_tiles has no {selector} for sm_{architecture}")
    return tiles[selector, max(known)]


def described(signature, architecture, tiles):
    """Family, variety and dynamic shared memory of a demangled kernel."""
    head = re.match(r"(?:void )?((?:\w+::)*\w+)(?:<(.*)>)?\(", signature.replace("(anonymous namespace)::", ""))
    path = head[1].split("::") if head else [signature]
    if "cub" in path[0] or "thrust" in path[0]:
        return "extremes (CUB)", "", 0
    family = path[-1].removesuffix("_kernel")
    start, depth = signature.find("<"), 0
    for end in range(start, len(signature)):
        depth += (signature[end] == "<") - (signature[end] == ">")
        if depth == 0:
            break
    arguments = split_arguments(short(signature[start + 1:end])) if start >= 0 else []
    if family == "flash_attention":
        operand, whole_weights, width, selector = arguments[:4]
        return "flash attention", of_heads(operand, whole_weights, width), tile_of(tiles, selector, architecture).bytes
    if family == "warpgroup_attention":
        operand, whole_weights, width = arguments[:3]
        tile = tile_of(tiles, f"warpgroup_attention_tile<{width}>", architecture)
        return "flash attention on warpgroups", of_heads(operand, whole_weights, width), tile.bytes
    if family in ("tiled_gradient", "tiled_rests"):
        operand, width = arguments_of(arguments[0])[1], arguments[2]
        tile = tile_of(tiles, f"{family}<{operand}, {width}>", architecture)
        return family.replace("_", " "), of_heads(operand, "false", width), tile.bytes
    if family == "tiled_product":
        name = "conv" if arguments[1].startswith("ImplicitIm2col") else "matmul"
        operand = arguments_of(arguments[0])[1]
        tile = tile_of(tiles, arguments[2], architecture)
        if "AnyResult" in arguments[0]:
            name = "matmul, blocks of a file"
        return name, f"{of_row(operand)}; tiles of {tile.works_on}", tile.bytes
    if family == "block_gemv":
        storage, operand = arguments_of(arguments[0])[:2]
        tile = tile_of(tiles, f"block_gemv_tile<{storage}, {arguments[2]}>", architecture)
        return "block GEMV", of_row(operand), tile.bytes
    if family == "skinny_gemm":
        operand = arguments_of(arguments[0])[1]
        return "skinny GEMM", of_row(operand), 0
    if family == "attention_values" and arguments[:2] == ["f32", "f32"] and arguments[4] in ("bf16", "f16"):
        return "plain attention", f"{of_row(arguments[4])} in f32; values", 2 * 64 * 64 * (4 + 2)
    if family in ("attention_scores", "attention_values", "largest_score"):  # PlainProduct::shared_bytes
        step = {"largest_score": "f32; largest score"}.get(family, f"{of_row(arguments[0])}; {family[10:]}")
        return "plain attention", step, 2 * (64 + 64) * 128
    if family == "attention_weights":
        return "plain attention", "weights", 0
    if family == "map":
        return "pointwise", {"Cast": "casts", "RoundedAs": "casts"}.get(arguments[1].partition("<")[0], "functions"), 0
    return family.replace("_", " "), "", 0


def occupancy(kernel, dynamic_shared):
    """The share of a multiprocessor's warps that blocks of a kernel fill; none where not one block fits."""
    shared, threads, blocks = MULTIPROCESSORS[max(known for known in MULTIPROCESSORS if known <= kernel.architecture)]
    of_block = kernel.threads or 1024
    warps = -(-of_block // 32)
    registers_of_warp = -(-kernel.registers * 32 // 256) * 256
    by_registers = REGISTERS // registers_of_warp // 4 * 4 // warps  # a multiprocessor has four files of them
    by_shared = shared // (-(-(kernel.shared + dynamic_shared + RESERVED_SHARED) // 128) * 128)
    fitting = min(by_registers, by_shared, threads // (warps * 32), blocks)
    return fitting * warps * 32 / threads if fitting else None


def span(values, unit=""):
    values = sorted(set(values))
    return "–" if not values else f"{values[0]}{unit}" if len(values) == 1 else f"{values[0]}–{values[-1]}{unit}"


def table(kernels, tiles):
    names = demangled(sorted({kernel.name for kernel in kernels}))
    groups = collections.defaultdict(list)
    for kernel in kernels:
        family, variety, dynamic = described(names[kernel.name], kernel.architecture, tiles)
        groups[family, variety].append((kernel, dynamic))
    architectures = sorted({kernel.architecture for kernel in kernels})
    titles = ["kernel", "of which", "variants", "threads", "shared memory, bytes"]
    for architecture in architectures:
        titles += [f"registers, sm_{architecture}", f"occupancy, sm_{architecture}"]
    lines = ["| " + " | ".join(titles + ["stack"]) + " |", "|" + "---|" * (len(titles) + 1)]
    natural = lambda key: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", "\0".join(key))]
    for key in sorted(groups, key=natural):
        rows = groups[key]
        cells = [*key, str(len({kernel.name for kernel, _ in rows})), span(k.threads for k, _ in rows if k.threads),
                 span(kernel.shared + dynamic for kernel, dynamic in rows)]
        for architecture in architectures:
            here = [(k, dynamic) for k, dynamic in rows if k.architecture == architecture]
            filled = [occupancy(k, dynamic) for k, dynamic in here]
            cells += [span(k.registers for k, _ in here), span((round(100 * share) for share in filled if share), "%")]
        lines.append("| " + " | ".join(cells + [span(k.stack for k, _ in rows)]) + " |")
    return "\n".join(lines)


def updated(text, lines):
    begin, end = "<!-- kernel resources -->\n", "<!-- end of kernel resources -->"
    before, mark, rest = text.partition(begin)
    _, closing, after = rest.partition(end)
    if not mark or not closing:
        raise NotRead(f"the marks {begin.strip()} and {end} are not there")
    return before + begin + lines + "\n" + end + after


def main():
    parser = argparse.ArgumentParser(description="Registers, shared memory, stack and occupancy of compiled kernels.")
    parser.add_argument("files", nargs="+", metavar="PROGRAM")
    parser.add_argument("--update", metavar="FILE", help="write the table between its marks in a file")
    parser.add_argument("--no-spills", action="store_true", help="fail where a kernel has a stack")
    parser.add_argument("--names", action="store_true", help="print the kernels' names instead")
    parser.add_argument("--all-in", metavar="PROGRAM", help="fail where it lacks a kernel of the others")
    parser.add_argument("--tiles", metavar="KERNEL_TILES", help="the program that prints tiles, which the table needs")
    options = parser.parse_args()
    if not (options.tiles or options.names or options.no_spills or options.all_in):
        parser.error("a table needs --tiles")
    kernels = list(dict.fromkeys(kernel for path in options.files for kernel in kernels_of(path)))
    if not kernels:
        raise NotRead("no kernels in " + " ".join(options.files))
    if options.names:
        print("\n".join(demangled(sorted({kernel.name for kernel in kernels})).values()))
        return 0
    if options.all_in:
        lacking = sorted({kernel.name for kernel in kernels} - {kernel.name for kernel in kernels_of(options.all_in)})
        for name in demangled(lacking).values():
            print(f"{options.all_in} lacks {short(name)}", file=sys.stderr)
        return 1 if lacking else 0
    spilling = [kernel for kernel in kernels if kernel.stack]
    if options.update:
        with open(options.update, encoding="utf-8") as file:
            text = updated(file.read(), table(kernels, tiles_by(options.tiles)))
        with open(options.update, "w", encoding="utf-8") as file:
            file.write(text)
    elif not options.no_spills:
        print(table(kernels, tiles_by(options.tiles)))
    print(f"{len(kernels)} kernels, {len(spilling)} with a stack", file=sys.stderr)
    if options.no_spills and spilling:
        names = demangled([kernel.name for kernel in spilling])
        for kernel in spilling:
            print(f"sm_{kernel.architecture}: {kernel.stack} bytes: {short(names[kernel.name])}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (NotRead, OSError) as problem:
        sys.exit(f"resources.py: {problem}")

"""Reads and writes 8-bit PNG files with Python's standard library and numpy."""

import pathlib
import struct
import zlib

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}


def predictor(kind, left, above, corner):
    if kind == 0:
        return 0
    if kind == 1:
        return left
    if kind == 2:
        return above
    if kind == 3:
        return (left + above) // 2
    guess = left + above - corner
    return min((left, above, corner), key=lambda one: abs(guess - one))


def unfilter(kind, line, above, step):
    """One line without its filter. Left neighbours are needed one by one; sums of whole lines are not."""
    if kind == 0:
        return line
    if kind == 2:
        return line + above
    if kind == 1:
        return np.cumsum(line.reshape(-1, step), axis=0, dtype=np.uint8).reshape(-1)
    if kind not in (3, 4):
        raise ValueError(f"filter type {kind} does not exist")
    out, over = line.tolist(), above.tolist()
    for i in range(len(out)):
        left, corner = (out[i - step], over[i - step]) if i >= step else (0, 0)
        out[i] = (out[i] + predictor(kind, left, over[i], corner)) & 255
    return np.array(out, np.uint8)


def read(path):
    """A PNG file as uint8 [height, width, 3]; gray is repeated, alpha dropped. Else ValueError."""
    data = pathlib.Path(path).read_bytes()
    if data[:8] != SIGNATURE:
        raise ValueError("not a PNG file")
    at, header, packed = 8, None, b""
    while at + 12 <= len(data):
        length, name = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        if len(body) < length:
            raise ValueError("the file is cut short")
        if name == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
        elif name == b"IDAT":
            packed += body
        elif name == b"IEND":
            break
        at += 12 + length
    if header is None:
        raise ValueError("the header is missing")
    width, height, depth, colour, _, _, interlaced = header
    if depth != 8 or colour not in CHANNELS or interlaced or not 0 < width <= 8192 or not 0 < height <= 8192:
        raise ValueError(f"only plain 8-bit gray and RGB are read, not depth {depth}, colour type {colour}")
    step = CHANNELS[colour]
    try:
        raw = np.frombuffer(zlib.decompress(packed), np.uint8)
    except zlib.error as error:
        raise ValueError(f"the pixels do not decompress: {error}") from error
    if len(raw) != height * (width * step + 1):
        raise ValueError("the number of pixels is not what the header says")
    raw = raw.reshape(height, width * step + 1)
    lines, above = np.empty((height, width * step), np.uint8), np.zeros(width * step, np.uint8)
    for y in range(height):
        above = lines[y] = unfilter(int(raw[y, 0]), raw[y, 1:], above, step)
    pixels = lines.reshape(height, width, step)
    return np.repeat(pixels[..., :1], 3, axis=2) if step < 3 else pixels[..., :3]


def encode(pixels, filters=(0,)):
    """uint8 [height, width, channels] as the bytes of a PNG file; `filters` are used in turn by line."""
    height, width, step = pixels.shape
    lines = pixels.reshape(height, width * step).astype(int)
    above, packed = np.zeros(width * step, int), b""
    for y in range(height):
        kind, line = filters[y % len(filters)], lines[y]
        left = np.concatenate([np.zeros(step, int), line[:-step]])
        corner = np.concatenate([np.zeros(step, int), above[:-step]])
        if kind == 4:
            guess = np.array(
                [predictor(4, *three) for three in zip(left.tolist(), above.tolist(), corner.tolist())]
            )
        else:
            guess = predictor(kind, left, above, corner)
        packed += bytes([kind]) + ((line - guess) & 255).astype(np.uint8).tobytes()
        above = line

    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    colour = {count: kind for kind, count in CHANNELS.items()}[step]
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    return SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(packed)) + chunk(b"IEND", b"")

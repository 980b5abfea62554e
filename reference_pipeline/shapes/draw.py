"""Draws the pictures of `shapes`: one shape, anti-aliased, on a plain background.

Needs Python 3 and numpy only. The unit is a pixel of a 64x64 picture; `side` scales everything. A picture
is described by (kind, colour, background, size, place): 6 x 8 x 7 x 2 x 5 = 3,360 descriptions.
"""

import hashlib

import numpy as np

KINDS = ["circle", "square", "triangle", "star", "cross", "ring"]
COLOURS = {
    "red": (220, 40, 40),
    "green": (40, 170, 60),
    "blue": (40, 80, 220),
    "yellow": (245, 220, 50),
    "purple": (140, 50, 180),
    "orange": (250, 140, 30),
    "white": (250, 250, 250),
    "black": (15, 15, 15),
}
COLOUR_NAMES = list(COLOURS)
SIZES = {"small": 10.0, "large": 19.0}
SIZE_NAMES = list(SIZES)
PLACES = {
    "center": (32.0, 32.0),
    "left": (20.0, 32.0),
    "right": (44.0, 32.0),
    "top": (32.0, 20.0),
    "bottom": (32.0, 44.0),
}
PLACE_NAMES = list(PLACES)
PALETTE = np.array(list(COLOURS.values()), dtype=np.float64)
HELD_OUT = 34


def polygon_distance(x, y, corners):
    """Signed distance (negative inside) of the points (x, y) to a closed polygon."""
    nearest = np.full(x.shape, np.inf)
    inside = np.zeros(x.shape, dtype=bool)
    for i, (ax, ay) in enumerate(corners):
        bx, by = corners[i - 1]
        edge_x, edge_y = bx - ax, by - ay
        along = np.clip(((x - ax) * edge_x + (y - ay) * edge_y) / (edge_x * edge_x + edge_y * edge_y), 0, 1)
        nearest = np.minimum(nearest, np.hypot(x - ax - edge_x * along, y - ay - edge_y * along))
        if ay != by:
            crosses = ((ay > y) != (by > y)) & (x < edge_x * (y - ay) / edge_y + ax)
            inside ^= crosses
    return np.where(inside, -nearest, nearest)


def polar(radius, degrees):
    return radius * np.sin(np.radians(degrees)), -radius * np.cos(np.radians(degrees))


# Corners at radius 1, the first one at the top. The triangle is lowered a little to look centred.
TRIANGLE = [polar(1.0, 120 * i) for i in range(3)]
STAR = [polar(1.0 if i % 2 == 0 else 0.45, 36 * i) for i in range(10)]
CROSS_ARM = 0.34
CROSS = [
    (-CROSS_ARM, -1),
    (CROSS_ARM, -1),
    (CROSS_ARM, -CROSS_ARM),
    (1, -CROSS_ARM),
    (1, CROSS_ARM),
    (CROSS_ARM, CROSS_ARM),
    (CROSS_ARM, 1),
    (-CROSS_ARM, 1),
    (-CROSS_ARM, CROSS_ARM),
    (-1, CROSS_ARM),
    (-1, -CROSS_ARM),
    (-CROSS_ARM, -CROSS_ARM),
]
SQUARE_HALF = 0.86
RING_HOLE = 0.58


def distance(kind, x, y, radius):
    """Signed distance in pixels to the outline of `kind` of the given radius about the origin."""
    if kind == "circle":
        return np.hypot(x, y) - radius
    if kind == "ring":
        middle, half = radius * (1 + RING_HOLE) / 2, radius * (1 - RING_HOLE) / 2
        return np.abs(np.hypot(x, y) - middle) - half
    if kind == "square":
        beyond_x, beyond_y = np.abs(x) - radius * SQUARE_HALF, np.abs(y) - radius * SQUARE_HALF
        return np.hypot(np.maximum(beyond_x, 0), np.maximum(beyond_y, 0)) + np.minimum(
            np.maximum(beyond_x, beyond_y), 0
        )
    corners = {"triangle": TRIANGLE, "star": STAR, "cross": CROSS}[kind]
    if kind == "triangle":
        y = y - 0.15 * radius
    return polygon_distance(x, y, [(cx * radius, cy * radius) for cx, cy in corners])


def inside(kind, x, y, radius):
    """Where `distance` is negative; cheaper."""
    if kind in ("circle", "ring", "square"):
        return distance(kind, x, y, radius) < 0
    corners = np.array({"triangle": TRIANGLE, "star": STAR, "cross": CROSS}[kind]) * radius
    if kind == "triangle":
        y = y - 0.15 * radius
    found = np.zeros(x.shape, dtype=bool)
    for (ax, ay), (bx, by) in zip(corners, np.roll(corners, 1, axis=0)):
        if ay != by:
            rows = (ay > y[:, 0]) != (by > y[:, 0])
            found[rows] ^= x[rows] < (bx - ax) / (by - ay) * (y[rows] - ay) + ax
    return found


_grids = {}


def grid(side):
    if side not in _grids:
        centres = (np.arange(side) + 0.5) * (64.0 / side)
        _grids[side] = np.meshgrid(centres, centres)
    return _grids[side]


def coverage(kind, centre_x, centre_y, radius, side=64):
    """How much of each pixel the shape covers, 0 to 1, as [side, side]."""
    x, y = grid(side)
    return np.clip(0.5 - distance(kind, x - centre_x, y - centre_y, radius) * (side / 64.0), 0, 1)


def draw(kind, colour, background, size="large", place="center", jitter=(0.0, 0.0, 1.0), side=64):
    """One picture as uint8 [side, side, 3]. `jitter` moves the centre (pixels) and scales the radius."""
    centre_x, centre_y = PLACES[place]
    cover = coverage(kind, centre_x + jitter[0], centre_y + jitter[1], SIZES[size] * jitter[2], side)[
        ..., None
    ]
    picture = np.array(COLOURS[background]) * (1 - cover) + np.array(COLOURS[colour]) * cover
    return np.rint(picture).astype(np.uint8)


def all_triples():
    return [
        (kind, colour, background)
        for kind in KINDS
        for colour in COLOURS
        for background in COLOURS
        if colour != background
    ]


def held_out_triples():
    """The (kind, colour, background) triples that no part of the model ever sees in training."""
    return sorted(all_triples(), key=lambda triple: hashlib.sha256("/".join(triple).encode()).hexdigest())[
        :HELD_OUT
    ]


def descriptions(triples):
    return [(*triple, size, place) for triple in triples for size in SIZES for place in PLACES]


def training_descriptions():
    held_out = set(held_out_triples())
    return descriptions([triple for triple in all_triples() if triple not in held_out])


def prompt_of(description):
    """The prompt form that the tests use."""
    kind, colour, background, size, place = description
    article = "an" if size[0] in "aeiou" else "a"
    ground = "an" if background[0] in "aeiou" else "a"
    where = "in the center" if place == "center" else f"at the {place}"
    return f"{article} {size} {colour} {kind} on {ground} {background} background, {where}"


def held_out_prompts(count=100):
    """A fixed selection of held-out descriptions, with their prompts, in a fixed order."""
    ordered = sorted(
        descriptions(held_out_triples()),
        key=lambda one: hashlib.sha256(("prompt/" + "/".join(one)).encode()).hexdigest(),
    )
    return [(prompt_of(one), one) for one in ordered[:count]]

"""Judges pictures of `shapes` from their pixels: shape, colour, background, size, place, clean outline.

    judge.py --prompts 100             the fixed held-out prompts, one a line (for `generate`)
    judge.py --directory D [--json]    judges D/out-001.png ... D/out-100.png, made from those prompts
    judge.py --picture F --prompt TEXT judges one picture
    judge.py --validate                proves the judge on all 3,360 drawn pictures, and on bad ones

Needs Python 3 and numpy (Debian: python3-numpy). A picture is right where shape, colour and background are
as asked; size and place are reported beside it. The outline's quality is the intersection over union of the
pixels that differ from the background with the best-fitting drawn shape, whatever its kind, centre and
radius. The exit code is 0 where at least 90 of 100 pictures are right and the mean IoU is at least 0.87
(for --picture: where it is right).
"""

import argparse
import json
import pathlib
import re
import sys
import tempfile

import numpy as np

import draw
import png

REQUIRED_RIGHT, REQUIRED_IOU = 0.90, 0.87
NOTHING = {"kind": None, "colour": None, "background": None, "size": None, "place": None, "iou": 0.0}


def nearest_colour(colour):
    return draw.COLOUR_NAMES[int(((draw.PALETTE - colour) ** 2).sum(1).argmin())]


def overlap(mask, kind, centre_x, centre_y, radius):
    x, y = draw.grid(len(mask))
    drawn = draw.inside(kind, x - centre_x, y - centre_y, radius)
    return (mask & drawn).sum() / max(1, (mask | drawn).sum())


def unit_box(kind, cache={}):
    """The box (left, right, top, bottom) and the area of `kind` at radius 1, measured on a drawing."""
    if kind not in cache:
        rows, columns = np.nonzero(draw.coverage(kind, 32, 32, 24, 256) > 0.5)
        edges = [
            (columns.min() / 4 - 32) / 24,
            ((columns.max() + 1) / 4 - 32) / 24,
            (rows.min() / 4 - 32) / 24,
            ((rows.max() + 1) / 4 - 32) / 24,
        ]
        cache[kind] = (
            edges,
            len(rows) / 16 / 24**2,
            ((columns.mean() + 0.5) / 4 - 32) / 24,
            ((rows.mean() + 0.5) / 4 - 32) / 24,
        )
    return cache[kind]


def first_guess(mask, kind):
    """(IoU, centre x, centre y, radius): from the mask's box or its area and centre."""
    pixel = 64.0 / len(mask)
    rows, columns = (axis * pixel for axis in np.nonzero(mask))
    (left, right, top, bottom), area, mean_x, mean_y = unit_box(kind)
    from_box = (columns.max() + pixel - columns.min() + rows.max() + pixel - rows.min()) / (
        right - left + bottom - top
    )
    from_area = np.sqrt(len(rows) * pixel**2 / area)
    guesses = [
        (
            (columns.min() + columns.max() + pixel) / 2 - from_box * (left + right) / 2,
            (rows.min() + rows.max() + pixel) / 2 - from_box * (top + bottom) / 2,
            from_box,
        ),
        (
            columns.mean() + pixel / 2 - from_area * mean_x,
            rows.mean() + pixel / 2 - from_area * mean_y,
            from_area,
        ),
    ]
    return max((overlap(mask, kind, *guess), *guess) for guess in guesses)


def improve(mask, kind, best, *found):
    """Moves a guess by ever smaller steps for as long as the IoU rises."""
    for step in (1.0, 0.5, 0.25, 0.125):
        improved = True
        while improved:
            improved = False
            for axis in range(3):
                for move in (-step, step):
                    tried = list(found)
                    tried[axis] += move
                    if tried[2] < 2:
                        continue
                    score = overlap(mask, kind, *tried)
                    if score > best:
                        best, found, improved = score, tuple(tried), True
    return best, kind, *found


def fit(mask):
    """The best-fitting drawn shape: (IoU, kind, centre x, centre y, radius)."""
    guesses = {kind: first_guess(mask, kind) for kind in draw.KINDS}
    best = max(guess[0] for guess in guesses.values())
    return max(improve(mask, kind, *guess) for kind, guess in guesses.items() if guess[0] > best - 0.15)


def look(picture):
    """What a picture (uint8 [side, side, 3]) shows; kind and the like are None where nothing stands out."""
    if picture.ndim != 3 or picture.shape[0] != picture.shape[1] or picture.shape[0] < 16:
        raise ValueError("the picture is not square")
    pixels = picture.astype(np.float64)
    border = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    ground = np.median(border, axis=0)
    away = np.sqrt(((pixels - ground) ** 2).sum(2))
    strongest = np.quantile(away, 0.99)
    if strongest < 40:
        return {**NOTHING, "background": nearest_colour(ground)}
    front = np.median(pixels[away > 0.7 * strongest], axis=0)
    along = (pixels - ground) @ (front - ground) / ((front - ground) ** 2).sum()
    mask = along > 0.5
    if not mask.any():
        return {**NOTHING, "background": nearest_colour(ground)}
    iou, kind, centre_x, centre_y, radius = fit(mask)
    size = min(draw.SIZES, key=lambda name: abs(np.log(radius / draw.SIZES[name])))
    place = min(
        draw.PLACES,
        key=lambda name: np.hypot(centre_x - draw.PLACES[name][0], centre_y - draw.PLACES[name][1]),
    )
    return {
        "kind": kind,
        "colour": nearest_colour(front),
        "background": nearest_colour(ground),
        "size": size,
        "place": place,
        "iou": float(iou),
    }


def judge(picture, expected):
    """What is seen, what of it is not as expected, and whether kind, colour and background are right."""
    seen = look(picture)
    asked = dict(zip(("kind", "colour", "background", "size", "place"), expected))
    wrong = [name for name, value in asked.items() if value is not None and seen[name] != value]
    return {"seen": seen, "wrong": wrong, "right": not {"kind", "colour", "background"} & set(wrong)}


def parse(prompt):
    """(kind, colour, background, size, place) of "a large red circle on a blue background, at the left"."""
    words = r"^an? (%s) (%s) (%s) on an? (%s) background, (?:at the|in the) (%s)$" % tuple(
        "|".join(names) for names in (draw.SIZES, draw.COLOURS, draw.KINDS, draw.COLOURS, draw.PLACES)
    )
    match = re.match(words, prompt.strip())
    if not match:
        raise SystemExit(
            f'cannot read the prompt "{prompt}": write "a large red circle on a blue background, at the left"'
        )
    size, colour, kind, background, place = match.groups()
    return kind, colour, background, size, place


def judge_file(path, expected):
    try:
        return judge(png.read(path), expected)
    except (OSError, ValueError) as error:
        return {
            "seen": dict(NOTHING),
            "wrong": ["kind", "colour", "background", "size", "place"],
            "right": False,
            "problem": f"{path}: {error}",
        }


def summarise(results):
    count = len(results)
    fraction = {
        name: sum(name not in one["wrong"] for one in results)
        for name in ("kind", "colour", "background", "size", "place")
    }
    right, iou = sum(one["right"] for one in results), sum(one["seen"]["iou"] for one in results) / count
    return {
        "pictures": count,
        "right": right,
        "everything_right": sum(not one["wrong"] for one in results),
        **fraction,
        "mean_iou": round(iou, 4),
        "passed": right >= REQUIRED_RIGHT * count and iou >= REQUIRED_IOU,
    }


def judge_directory(directory, count, as_json):
    results = []
    for i, (prompt, expected) in enumerate(draw.held_out_prompts(count), 1):
        name = directory / f"out-{i:0{len(str(count))}}.png"
        if count == 1 and not name.exists():
            name = directory / "out.png"
        results.append({"prompt": prompt, "file": str(name), **judge_file(name, expected)})
    summary = summarise(results)
    if as_json:
        print(json.dumps({"summary": summary, "pictures": results}, indent=1))
    else:
        for one in results:
            if one["wrong"]:
                wrong, seen = ", ".join(one["wrong"]), one.get("problem", one["seen"])
                print(f'{one["file"]}: {one["prompt"]}: wrong {wrong}; {seen}')
    print(
        f'{summary["right"]} of {count} right (shape {summary["kind"]}, colour {summary["colour"]}, '
        f'background {summary["background"]}; size {summary["size"]}, place {summary["place"]}), mean IoU '
        f'{summary["mean_iou"]:.3f}: {"passed" if summary["passed"] else "NOT passed"}',
        file=sys.stderr if as_json else sys.stdout,
    )
    return summary["passed"]


def validate():
    """The judge against pictures whose answer is known: all drawn ones, moved, spoilt and broken ones."""
    everything, rng, wrong, overlaps = draw.descriptions(draw.all_triples()), np.random.default_rng(1), [], []
    for i, one in enumerate(everything):
        jitter = (0.0, 0.0, 1.0) if i % 2 else (*rng.uniform(-1, 1, 2), rng.uniform(0.97, 1.03))
        found = judge(draw.draw(*one, jitter=jitter), one)
        overlaps.append(found["seen"]["iou"])
        if found["wrong"] or parse(draw.prompt_of(one)) != one:
            wrong.append((one, found))
    print(
        f"{len(everything) - len(wrong)} of {len(everything)} drawn pictures judged right, "
        f"IoU at least {min(overlaps):.3f}, mean {np.mean(overlaps):.4f}"
    )
    problems = [f"misjudged: {one}" for one in wrong] + (
        [] if min(overlaps) > 0.9 and np.mean(overlaps) > 0.98 else ["the fit is loose"]
    )
    sample = ("star", "red", "blue", "large", "left")
    picture = draw.draw(*sample)
    for other in (
        ("circle", *sample[1:]),
        (sample[0], "green", *sample[2:]),
        (*sample[:2], "white", *sample[3:]),
    ):
        if judge(picture, other)["right"]:
            problems.append(f"a red star on blue passes for {other}")
    spoilt = picture.copy()
    spoilt[40:60, 40:60] = draw.COLOURS["red"]
    if look(spoilt)["iou"] > 0.85:
        problems.append("a stray blob does not lower the IoU")
    black = judge(np.zeros((64, 64, 3), np.uint8), sample)
    if black["right"] or black["seen"]["kind"] is not None:
        problems.append("a black picture shows something")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "picture.png"
        noise = rng.integers(0, 256, (23, 17, 4), dtype=np.uint8)
        for shown in (noise[..., :1], noise[..., :2], noise[..., :3], noise):
            file.write_bytes(png.encode(np.ascontiguousarray(shown), (0, 1, 2, 3, 4)))
            seen = png.read(file)
            if not np.array_equal(
                seen, shown[..., :3] if shown.shape[2] > 2 else shown[..., :1].repeat(3, 2)
            ):
                problems.append(f"PNG with {shown.shape[2]} channels read wrongly")
        file.write_bytes(png.encode(picture, (4,))[:300])
        if "problem" not in judge_file(file, sample) or "problem" not in judge_file(
            file.with_name("none"), sample
        ):
            problems.append("a broken file is not reported")
    for problem in problems:
        print(problem)
    return not problems


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--prompts", type=int, metavar="N", help="print the first N held-out prompts")
    parser.add_argument("--directory", type=pathlib.Path, help="where out-001.png and so on are")
    parser.add_argument("--count", type=int, default=100, help="how many pictures the directory holds (100)")
    parser.add_argument("--picture", type=pathlib.Path)
    parser.add_argument("--prompt", help="what the picture should show")
    parser.add_argument("--validate", action="store_true")
    parser.add_argument("--json", action="store_true", help="results on stdout as JSON")
    given = parser.parse_args()
    if given.prompts:
        print("\n".join(prompt for prompt, _ in draw.held_out_prompts(given.prompts)))
        return True
    if given.validate:
        return validate()
    if given.directory:
        return judge_directory(given.directory, given.count, given.json)
    if given.picture:
        found = judge_file(given.picture, parse(given.prompt) if given.prompt else (None,) * 5)
        print(json.dumps(found))
        return found["right"]
    parser.error("say what to judge: --directory, --picture, --validate or --prompts")


if __name__ == "__main__":
    sys.exit(0 if main() else 1)

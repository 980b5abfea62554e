"""stable_diffusion.py SHAPES PROGRAM: what Stable Diffusion's options do to pictures of shapes-sd, seen in their pixels.

Samplers, a negative prompt, image to image and inpainting, judged by SHAPES/judge.py. Needs numpy.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np

shapes, program = pathlib.Path(sys.argv[1]), sys.argv[2]
sys.path.insert(0, str(shapes))
import draw  # noqa: E402
import judge  # noqa: E402
import png  # noqa: E402

wrong = []


def check(right, what):
    print("right" if right else "WRONG", what)
    if not right:
        wrong.append(what)


def generate(folder, name, *options):
    """The pictures that `precast generate` makes in a folder of their own, [n, side, side, 3]."""
    place = folder / name
    place.mkdir()
    command = [program, "generate", "--model", "shapes-sd", "--quiet", "--output", place / "out.png", *options]
    subprocess.run(list(map(str, command)), check=True)
    return [png.read(file) for file in sorted(place.iterdir())]


def right_of(pictures, descriptions):
    looked = [judge.look(picture) for picture in pictures]
    kept = ["kind", "colour", "background", "size", "place"]
    return sum(tuple(one[key] for key in kept) == told for one, told in zip(looked, descriptions))


def samplers(folder):
    held_out = draw.held_out_prompts(20)
    prompts = [word for prompt, _ in held_out for word in ("--prompt", prompt)]
    for sampler in ("ddim", "pndm", "euler", "euler_a", "dpmpp_2m", "dpmpp_2m_karras", "dpmpp_2m_sde",
                    "dpmpp_2m_sde_karras", "lcm"):
        pictures = generate(folder, sampler, "--sampler", sampler, "--steps", "20", *prompts)
        right = right_of(pictures, [told for _, told in held_out])
        check(right >= 18, f"{sampler}: {right} of 20 pictures have all five that their prompts say")


def negative_prompt(folder):
    """Where a prompt leaves the colour open, most are of one colour; that colour is what is kept away from."""
    open_colour = ["--prompt", "a large circle on a black background", "--batch", "20"]
    colours = [judge.look(picture)["colour"] for picture in generate(folder, "open", *open_colour)]
    usual = max(draw.COLOUR_NAMES, key=colours.count)
    away = [
        judge.look(picture)["colour"]
        for picture in generate(folder, "away", *open_colour, "--negative", f"a large {usual} circle")
    ]
    without = generate(folder, "without", *open_colour, "--negative", usual, "--guidance", "1")
    plain = generate(folder, "plain", *open_colour, "--guidance", "1")
    before, after = colours.count(usual), away.count(usual)
    check(after <= before / 4, f"--negative: {before} of 20 are {usual}, and {after} where that is kept away from")
    same = all((one == other).all() for one, other in zip(without, plain))
    check(same, "--negative does nothing without guidance")


def from_pictures(folder):
    start = folder / "start"
    generate(folder, "start", "--prompt", "a small red circle on a blue background, at the left")
    start = start / "out.png"
    before = png.read(start)
    again = ["--image", start, "--prompt", "a small green circle on a blue background"]
    picture = generate(folder, "image", *again, "--strength", "0.6")[0]
    found = right_of([picture], [("circle", "green", "blue", "small", "left")])
    check(found == 1, "image to image: the prompt's colour, at the place that the picture has")

    mask = np.zeros((64, 64, 3), np.uint8)
    mask[:, 32:] = 255
    (folder / "mask.png").write_bytes(png.encode(mask))
    painted = generate(
        folder,
        "inpainted",
        *("--image", start, "--mask", folder / "mask.png", "--strength", "1", "--steps", "20"),
        *("--prompt", "a small yellow square on a blue background, at the right"),
    )[0]
    kept = generate(folder, "kept", "--image", start, "--strength", "0", "--prompt", "")[0]
    apart = np.abs(painted[:, :24].astype(int) - kept[:, :24]).mean()
    anew = painted.copy()
    anew[:, :32] = np.median(painted[:8].reshape(-1, 3), axis=0).astype(np.uint8)
    found = right_of([anew], [("square", "yellow", "blue", "small", "right")])
    check(found == 1, "inpainting: the prompt's shape where the mask is white")
    check(apart < 2, f"inpainting: where the mask is black the picture stays, {apart:.2f} levels apart")
    check(np.abs(kept.astype(int) - before).mean() < 4, "--strength 0 keeps the picture as the VAE has it")


def large_picture(folder):
    """512 x 512 pixels: bands of 128 rows at the finest level."""
    large = ["--width", "512", "--height", "512", "--steps", "2"]
    large += ["--prompt", "a large red star on a white background, in the center"]
    whole = generate(folder, "whole", *large)[0]
    tiled = generate(folder, "tiled", *large, "--vae-tiling")[0]
    apart = np.abs(tiled.astype(int) - whole)
    check(apart.max() <= 1, f"--vae-tiling: {apart.max()} of 255 apart at most, {(apart > 0).mean():.2e} of all values")


with tempfile.TemporaryDirectory() as scratch:
    folder = pathlib.Path(scratch)
    samplers(folder)
    negative_prompt(folder)
    from_pictures(folder)
    large_picture(folder)
sys.exit(1 if wrong else 0)

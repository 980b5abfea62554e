"""Says in words, in many ways, what a picture of `shapes` shows. Python's standard library only."""

import random

from draw import prompt_of

SIZE_WORDS = {"small": ["small", "small", "tiny", "little"], "large": ["large", "large", "big", "huge"]}
KIND_WORDS = {
    "circle": ["circle", "circle", "circle", "disc", "dot"],
    "square": ["square", "square", "square", "box"],
    "triangle": ["triangle"],
    "star": ["star", "star", "star", "five-pointed star"],
    "cross": ["cross", "cross", "cross", "plus", "plus sign"],
    "ring": ["ring", "ring", "ring", "hoop", "donut"],
}
COLOUR_WORDS = {"purple": ["purple", "purple", "purple", "violet"]}
PLACE_WORDS = {
    "center": ["in the center", "in the center", "in the middle", "at the center", "in the centre"],
    "left": ["at the left", "at the left", "on the left", "to the left", "on the left side"],
    "right": ["at the right", "at the right", "on the right", "to the right", "on the right side"],
    "top": ["at the top", "at the top", "near the top", "at the upper edge", "on top"],
    "bottom": ["at the bottom", "at the bottom", "near the bottom", "at the lower edge", "low down"],
}
# {a} and {b} are the articles of what follows them.
FULL_TEMPLATES = [
    "{a} {size} {colour} {kind} on {b} {ground} background, {place}",
    "{a} {size} {colour} {kind} {place}, on {b} {ground} background",
    "{a} {size} {colour} {kind} {place} of {b} {ground} background",
    "{size} {colour} {kind}, {ground} background, {place}",
    "on {b} {ground} background, {a} {size} {colour} {kind} {place}",
    "{b} {ground} background with {a} {size} {colour} {kind} {place}",
    "{b} {ground} picture with {a} {size} {colour} {kind} {place}",
    "a picture of {a} {size} {colour} {kind} on {ground}, {place}",
    "there is {a} {size} {colour} {kind} {place}, the background is {ground}",
    "the {kind} is {size} and {colour}, {place}, the background is {ground}",
    "{place}: {a} {size} {colour} {kind} against {b} {ground} background",
    "{a} {size} {kind} in {colour} on {b} {ground} backdrop, {place}",
    "draw {a} {size} {colour} {kind} {place} on {b} {ground} canvas",
    "{size} {kind}, {colour} on {ground}, {place}",
]
PARTIAL_TEMPLATES = [
    "{a} {colour} {kind} on {b} {ground} background",
    "{a} {colour} {kind} on {ground}",
    "{a} {size} {colour} {kind} on {b} {ground} background",
    "{colour} {kind}, {ground} background",
    "{a} {colour} {kind} {place}",
    "{a} {size} {colour} {kind} {place}",
    "{a} {colour} {kind}",
    "{a} {colour} {kind} on {b} {ground} background, {place}",
    "{a} {size} {kind} on {b} {ground} background",
    "{a} {kind}",
    "{b} {ground} background",
    "{a} {size} {colour} {kind}",
]
FILLERS = (
    """please draw paint me nice beautiful simple clean modern abstract photo image drawing painting icon logo
geometric flat minimal sharp picture""".split()
)
ATTRIBUTES = ["kind", "colour", "ground", "size", "place"]


def article(word):
    return "an" if word[0] in "aeiou" else "a"


def caption(description, rng: random.Random, partial=0.12, plain=0.35):
    """(text, which of the five it tells). `plain` is how often the tests' form is used."""
    text, told = plainly(description, rng, partial, plain)
    if rng.random() < 0.06:
        text = " ".join(rng.sample(FILLERS, rng.randint(1, 3))) + " " + text
    if rng.random() < 0.1:
        text = text[0].upper() + text[1:]
    if rng.random() < 0.06:
        text += rng.choice([".", "!", ", please", ", clean and simple", ", flat icon"])
    return text, told


def plainly(description, rng, partial, plain):
    kind, colour, ground, size, place = description
    if rng.random() >= partial and rng.random() < plain:
        return prompt_of(description), (True,) * 5
    template = rng.choice(PARTIAL_TEMPLATES if rng.random() < partial else FULL_TEMPLATES)
    said = {
        "kind": rng.choice(KIND_WORDS[kind]),
        "colour": rng.choice(COLOUR_WORDS.get(colour, [colour])),
        "ground": rng.choice(COLOUR_WORDS.get(ground, [ground])),
        "size": rng.choice(SIZE_WORDS[size]),
        "place": rng.choice(PLACE_WORDS[place]),
    }
    following = template.split("{a} ")[1][1:].split("}")[0] if "{a} " in template else "kind"
    text = template.format(a=article(said[following]), b=article(said["ground"]), **said)
    return text, tuple("{" + name + "}" in template for name in ATTRIBUTES)

"""What the tables of all devices are made of: medians of rounds, and a section of a page between two marks."""

import statistics


def mid(samples, name, key):
    """The median of a counter's rounds, or None."""
    values = samples[name].get(key)
    return statistics.median(values) if values else None


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join("---" for _ in header) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def policy_title(policy):
    return policy.replace("_in_f32", " in f32").replace("_flash", ", flash").replace("_plain", ", plain")


def marks_of(what):
    return f"<!-- measured on {what}: begin -->", f"<!-- measured on {what}: end -->"


MORE_CPUS = "<!-- measured on other CPUs: here -->"


def write(path, marks, lines):
    """Puts lines between two marks of a page, which is made where it is not there. Marks of a CPU that the page does not
    have yet come before MORE_CPUS."""
    begin, end = marks
    text = path.read_text() if path.exists() else f"# Benchmarks\n\n{begin}\n{end}\n"
    if begin not in text:
        text = text.replace(MORE_CPUS, f"{begin}\n{end}\n\n{MORE_CPUS}")
    before, rest = text.split(begin, 1)
    after = rest.split(end, 1)[1]
    path.write_text(before + begin + "\n" + "\n".join(lines) + "\n" + end + after)

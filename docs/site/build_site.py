#!/usr/bin/env python3
"""Makes the site of the documentation: guides, examples, and the reference of the headers, searchable without a network.

    python3 docs/site/build_site.py build/docs
    python3 docs/site/build_site.py --check

The guides are README.md, CONTRIBUTING.md, CHANGELOG.md and docs/*.md as they are. Doxygen, which renders them, knows other
names for headings than links on GitHub do, so each heading gets a name of its own and each link is made one to it. A link
to a file or heading that is not there is an error, as is all that doxygen warns of. --check looks at links alone, without
doxygen."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "docs" / "site"
GUIDE = "guide_"  # doxygen has a page `files` of its own
CODE = ("*.cpp", "*.cu", "*.hpp")

# What the side bar shows, in its order: a title, and pages by the names of their files, each with its own.
SECTIONS = (
    ("Start", {"getting_started": "Getting started", "examples": "Examples"}),
    ("Pictures", {"generate": "Making pictures", "stable_diffusion": "Stable Diffusion", "samplers": "Samplers",
                  "files": "Files of models"}),
    ("Precision", {"design": "Design: policies, table, layout", "overflow": "When f16 overflows", "doctor": "Doctor",
                   "autocast": "Autocast", "experiments": "Experiments"}),
    ("Quantisation", {"quantisation": "Block formats", "convert": "Convert", "casting": "Casting cost", "plan": "Plans"}),
    ("Training", {"train": "Training", "bench": "Language-model benchmark", "cluster": "More than one machine"}),
    ("Kernels and extensions", {"extending": "Your own dtype or preset", "kernels": "CUDA kernels",
                                "kernel_proofs": "Proofs of the kernels", "kernel_resources": "Registers and memory"}),
    ("The project", {"benchmarks": "Benchmarks", "sizes": "Sizes of programs", "compile_time": "Time to compile",
                     "dependencies": "Dependencies", "CONTRIBUTING": "Contributing", "CHANGELOG": "Changelog"}),
)


def guides():
    """The Markdown files that are pages, by the name of the page."""
    paths = (ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md")))
    return {"index": ROOT / "README.md", **{GUIDE + path.stem: path for path in paths}}


def examples():
    """The files of examples that are pages, by the name of the page."""
    folder = ROOT / "examples"
    files = sorted(path for pattern in CODE for path in folder.rglob(pattern))
    return {"example_" + re.sub(r"\W", "_", str(path.relative_to(folder))): path for path in files}


def readmes():
    """The other READMEs of the repository: what git knows of, since a folder may hold a build, an installation or a venv."""
    known = subprocess.run(["git", "-C", str(ROOT), "ls-files", "*/README.md"], capture_output=True, text=True) if shutil.which(
        "git") else None
    if known and known.stdout:
        return [ROOT / name for name in known.stdout.splitlines() if (ROOT / name).exists()]
    return sorted({*ROOT.glob("*/**/README.md")} - {*ROOT.glob("build/**/README.md")})


def outside_code(text):
    """The lines of a Markdown text with whether each is prose: no code in a fence, and none that is indented."""
    fenced = False
    after_blank = True
    in_code = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
            yield line, False
            continue
        in_code = line.startswith("    ") and (in_code or after_blank)
        yield line, not fenced and not in_code
        after_blank = not line.strip() or (in_code and after_blank)


def slug(title, taken):
    """What GitHub calls a heading in a link."""
    name = re.sub(r"[^\w\- ]", "", title.strip().lower().replace("`", "")).replace(" ", "-")
    count = taken.get(name, 0)
    taken[name] = count + 1
    return f"{name}-{count}" if count else name


def headings(path):
    """Each heading of a file as links name it."""
    taken = {}
    return {slug(match[2], taken) for line, prose in outside_code(path.read_text())
            if prose and (match := re.match(r"(#+) +(.*)", line))}


SPAN = re.compile(r"(`+)(?:(?!\1)[\s\S])+?\1(?!`)")  # code in a line
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


class Site:
    def __init__(self):
        self.pages = guides()
        self.examples = examples()
        self.name_of = {path: name for name, path in {**self.pages, **self.examples}.items()}
        self.name_of[ROOT / "examples"] = GUIDE + "examples"
        self.name_of[ROOT / "examples" / "extend"] = GUIDE + "examples"
        self.anchors = {path: headings(path) for path in self.pages.values()}
        self.mistakes = []

    def link(self, page, number, match):
        """A link as doxygen reads it, which takes a text that goes on in the next line for one without an end, and all that
        follows for a part of it, and shows the backticks of code in a text as they are."""
        picture, text, target = match.groups()
        text = " ".join(text.split())
        if re.match(r"[a-z]+:", target):
            return f"{picture}[{text}]({target})"
        file, _, anchor = target.partition("#")
        path = (page.parent / file).resolve() if file else page
        where = f"{page.relative_to(ROOT)}:{number}"
        if not path.exists():
            self.mistakes.append(f"{where}: the link to {target}: there is no {file}")
            return text
        if anchor and anchor not in self.anchors.setdefault(path, headings(path)):
            self.mistakes.append(f"{where}: the link to {target}: {path.name} has no heading of that name")
            return text
        if picture:
            return f"![{text}]({path.name})"
        if path not in self.name_of:
            return text  # a file of the repository that the site does not hold
        name = self.name_of[path]
        text = text.replace("`", "")
        return f"[{text}](@ref {name}-{anchor})" if anchor else f"[{text}](@ref {name})"

    def page(self, name, path):
        """A guide with names for its headings."""
        taken = {}
        lines = []
        # A link may go on in the next line, so links are found in the whole text; code is put aside first.
        split = list(outside_code(path.read_text()))
        code = iter([line for line, is_prose in split if not is_prose])
        text = "\n".join(line if is_prose else "\0" for line, is_prose in split)
        kept = [span.span() for span in SPAN.finditer(text)]

        def linked(match):
            if any(start < match.start() < end for start, end in kept):
                return match[0]
            return self.link(path, text.count("\n", 0, match.start()) + 1, match)

        def named(match):
            guide = GUIDE + match[1]
            return f"[{match[0]}](@ref {guide})" if guide in self.pages else match[0]

        text = re.sub(r"(?<![\w/\[])(?<!\]\()docs/(\w+)\.md(?!\])", named, LINK.sub(linked, text))
        # What has an apostrophe between single backticks is a quotation to doxygen; between two of them it is code.
        text = SPAN.sub(lambda span: f"`{span[0]}`" if span[1] == "`" and "'" in span[0] else span[0], text)
        for line in text.split("\n"):
            if line == "\0":
                lines.append(next(code))
            elif match := re.match(r"(#+) +(.*)", line):
                anchor = slug(match[2], taken)
                label = f"{name}-{anchor}" if len(match[1]) > 1 else name
                line = line.replace("`", "")  # doxygen shows the tags that it makes of code here
                # The main page is `index` without being called so.
                lines.append(line if label == "index" else f"{line} {{#{label}}}")
            else:
                lines.append(line)
        return "\n".join(lines) + "\n"

    def prepared(self):
        """Every guide, by name; throws where a link leads nowhere."""
        prepared = {name: self.page(name, path) for name, path in self.pages.items()}
        for path in readmes():
            self.page(path.stem, path)  # no page of the site, but its links are looked at
        if self.mistakes:
            sys.exit("\n".join(self.mistakes))
        return prepared


def lead(text):
    """The comment that a file begins with, in which what is indented is a command, and what follows; `// [name]` marks a part
    that other pages show, and is neither."""
    lines = [line for line in text.splitlines() if not re.fullmatch(r"// \[[\w ]+\]", line)]
    end = next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))
    about = " ".join(re.sub(r"^  +(.*)", r"`\1`", line[2:]).strip() for line in lines[:end])
    return about, "\n".join(lines[end:]).strip("\n")


def write_examples(site, folder):
    rows = [f"# Examples {{#{GUIDE}examples}}", "",
            "Each is built and run by the tests; those of `extend/` are a project of their own, on an installed Precast.", "",
            "| file | what it shows |", "|---|---|"]
    for name, path in site.examples.items():
        title = path.relative_to(ROOT / "examples")
        about, code = lead(path.read_text())
        rows.append(f"| [{title}](@ref {name}) | {about} |")
        (folder / f"{name}.md").write_text(f"# {title} {{#{name}}}\n\n{about}\n\n```cpp\n{code}\n```\n")
    (folder / "examples.md").write_text("\n".join(rows) + "\n")


def write_layout(path, site):
    """The side bar, in doxygen's own layout of what is beside it."""

    def page(name, title):
        return f'<tab type="user" visible="yes" url="@ref {name}" title="{title}"/>'

    def group(title, inside, url=""):
        return f'<tab type="usergroup" visible="yes" title="{title}" url="{url}">{"".join(inside)}</tab>'

    tabs = ['<tab type="mainpage" visible="yes" title="Precast"/>']
    for section, pages in SECTIONS:
        tabs.append(group(section, (
            group(title, (page(example, file.relative_to(ROOT / "examples")) for example, file in site.examples.items()),
                  f"@ref {GUIDE}examples") if name == "examples" else page(GUIDE + name, title) for name, title in pages.items())))
    tabs.append(group("Reference", (f'<tab type="{kind}" visible="yes" title="{title}"/>' for kind, title in (
        ("filelist", "Headers"), ("classlist", "Types"), ("concepts", "Concepts"), ("namespacemembers", "All names")))))
    subprocess.run(["doxygen", "-l", str(path)], check=True, capture_output=True)
    path.write_text(re.sub(r"<navindex>.*</navindex>", "<navindex>" + "".join(tabs) + "</navindex>", path.read_text(), flags=re.S))


def version():
    return re.search(r"project\(.*?VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.S)[1]


def write_folders(path):
    """What each folder of headers is, from the layout of docs/design.md."""
    layout = re.search(r"^include/precast/ .*?^kernels/", (ROOT / "docs" / "design.md").read_text(), re.M | re.S)[0]
    text = "".join(f"/** @dir include/precast/{name}\n * @brief {about[0].upper()}{about[1:]}. */\n"
                   for name, about in re.findall(r"^  ([\w/]+)/ +(.+)$", layout, re.M))
    path.write_text("/** @namespace precast\n * @brief The library's names. */\n" + text)


CODE_OF_PAGE = re.compile(r'<div class="fragment">.*?</div><!-- fragment -->|<code>.*?</code>|<script.*?</script>', re.S)


def broken(html):
    """The pages that doxygen left short, as it does without a word where a disk is full, its links to pages that it left out, and
    what it shows to readers of its own language, where it took a text for another than it is."""
    pages = {path.name: path.read_text() for path in sorted(html.glob("*.html"))}
    for name, text in pages.items():
        if not text.rstrip().endswith("</html>"):
            yield f"{html / name}: is not whole: make room, or name another folder"
        if name.startswith((GUIDE, "index.", "example_")):
            for found in re.finditer(r"(?:&lt;/?tt&gt;|[@\\](?:ref|section|verbatim)\b|`).{0,40}", CODE_OF_PAGE.sub("", text)):
                yield f"{name}: doxygen shows '{found[0]}': write the text before it another way"
                break
        for target in sorted({*re.findall(r'href="(\w+\.html)[#"]', text)} - pages.keys()):
            yield f"{name}: doxygen links to {target} and has not made it: give what it is of a comment"


def build(folder):
    if not shutil.which("doxygen"):
        sys.exit("doxygen is not installed (on Debian: apt-get install doxygen)")
    site = Site()
    pages = site.prepared()
    unlisted = pages.keys() - {"index"} - {GUIDE + page for _, names in SECTIONS for page in names}
    if unlisted:
        sys.exit(f"docs/site/build_site.py: SECTIONS lacks {', '.join(sorted(unlisted))}")
    html = folder / "html"
    work = folder / "doxygen"
    for old, sign in ((html, "doxygen.css"), (work, "Doxyfile")):  # both are replaced: only what an earlier call made
        if old.exists() and not (old / sign).exists():
            sys.exit(f"{old}: is there, and is not of an earlier site: name another folder, or remove it")
    shutil.rmtree(work, ignore_errors=True)
    (work / "pages").mkdir(parents=True)
    for name, text in pages.items():
        (work / "pages" / f"{name}.md").write_text(text)
    write_examples(site, work / "pages")
    write_folders(work / "pages" / "folders.dox")
    shutil.copytree(ROOT / "docs" / "images", work / "images")
    (work / "include").symlink_to(ROOT / "include")  # a path with a space would be two to doxygen
    for name in ("Doxyfile", "header.awk", "style.css", "footer.html"):
        shutil.copy(HERE / name, work)
    write_layout(work / "layout.xml", site)
    environment = {**os.environ, "PRECAST_VERSION": version()}
    subprocess.run(["doxygen"], cwd=work, env=environment, check=True, stdout=subprocess.DEVNULL)
    mistakes = (work / "warnings.txt").read_text().strip() or "\n".join(broken(work / "html"))
    if mistakes:
        sys.exit(mistakes)
    with (work / "html" / "search" / "search.css").open("a") as style:
        style.write((HERE / "search.css").read_text())
    shutil.rmtree(html, ignore_errors=True)
    shutil.move(work / "html", html)
    shutil.rmtree(work)
    print(f"{html}/index.html")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=ROOT / "build" / "docs",
                        help="where html/ goes (build/docs)")
    parser.add_argument("--check", action="store_true", help="look at links alone")
    arguments = parser.parse_args()
    if arguments.check:
        Site().prepared()
        return
    folder = arguments.folder.resolve()
    try:
        build(folder)
    except OSError as error:
        sys.exit(f"{error.filename or folder}: {error.strerror or error}: name another folder, or make room")
    except subprocess.CalledProcessError as error:
        sys.exit(f"{folder}: {error.cmd[0]} ended with {error.returncode}: look at what it said above, and at the room that is left")


if __name__ == "__main__":
    main()

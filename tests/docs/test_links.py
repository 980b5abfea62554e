"""Documents and pages with planted mistakes: build_site.py names each, with its file and line, and takes nothing else for one."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs" / "site"))
import build_site

DOCUMENT = """# Title

[file](other.md) [heading](other.md#a-heading-of-code) [own](#twice-1) [web](https://example.org/none.md)
`[code](none.md)` and ``[code](`none.md`)``
`--rule 'a=b'` is `one`'s, `'two
lines'`

    [indented](none.md)

```
[fenced](none.md)
# No heading
```

## Twice
## `Twice`

[two
lines](other.md), [`code`](other.md#a-heading-of-code) and [two
lines](https://example.org)

A [link that goes on
in the next line](none.md), [one of a heading](other.md#none), [of its own](#no-heading) and ![a picture](none.png).
"""


def mistakes(text):
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name).resolve()
        (root / "page.md").write_text(text)
        (root / "other.md").write_text("# Other\n\n## A heading, of `code`\n")
        build_site.ROOT = root
        site = build_site.Site.__new__(build_site.Site)
        site.pages = {"page": root / "page.md", "other": root / "other.md"}
        site.name_of = {path: name for name, path in site.pages.items()}
        site.anchors = {path: build_site.headings(path) for path in site.pages.values()}
        site.mistakes = []
        return site.page("page", root / "page.md"), site.mistakes


page, found = mistakes(DOCUMENT)
expected = ["page.md:22: the link to none.md: there is no none.md",
            "page.md:23: the link to other.md#none: other.md has no heading of that name",
            "page.md:23: the link to #no-heading: page.md has no heading of that name",
            "page.md:23: the link to none.png: there is no none.png"]
assert found == expected, found
assert "[file](@ref other) [heading](@ref other-a-heading-of-code) [own](@ref page-twice-1) [web](https://" in page, page
assert "# Title {#page}\n" in page and "## Twice {#page-twice}\n## Twice {#page-twice-1}\n" in page, page
assert "`[code](none.md)` and ``[code](`none.md`)``" in page and "    [indented](none.md)" in page, page
assert "\n``--rule 'a=b'`` is `one`'s, ``'two\nlines'``\n" in page, page  # what doxygen takes for code, not for quotations
assert "[two lines](@ref other), [code](@ref other-a-heading-of-code) and [two lines](https://example.org)" in page, page
assert "[fenced](none.md)\n# No heading\n```" in page, page

with tempfile.TemporaryDirectory() as name:
    html = pathlib.Path(name)
    (html / "whole.html").write_text('<a href="whole.html#a"></a><a href="left_out.html"></a><a href="https://a.org/b.html"></a></html>\n')
    (html / "cut.html").write_text("<html><bo")
    (html / "guide_own.html").write_text("<code>`@ref`</code></html>\n")
    (html / "guide_shown.html").write_text('<p>"a link", or @ref guide_own</p></html>\n')
    (html / "index.html").write_text("<h1>What &lt;tt&gt;shapes&lt;/tt&gt; costs</h1></html>\n")
    found = list(build_site.broken(html))
    assert len(found) == 4 and "cut.html: is not whole" in found[0] and "left_out.html" in found[3], found
    assert "guide_shown.html: doxygen shows '@ref guide_own" in found[1] and "index.html: doxygen shows '&lt;tt&gt;" in found[2], found

with tempfile.TemporaryDirectory() as name:
    build_site.ROOT = pathlib.Path(name).resolve()
    for folder in ("known", "venv", "build"):
        (build_site.ROOT / folder).mkdir()
        (build_site.ROOT / folder / "README.md").touch()
    assert len(build_site.readmes()) == 2  # without git all but a build's
    if shutil.which("git"):
        for command in (["init", "-q"], ["add", "known"]):
            subprocess.run(["git", "-C", name, *command], check=True)
        assert build_site.readmes() == [build_site.ROOT / "known" / "README.md"], build_site.readmes()

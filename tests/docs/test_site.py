"""The site is made without a warning, holds each guide and each header, and finds names without a network."""
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

if not shutil.which("doxygen"):
    print("doxygen is not installed")
    sys.exit(77)
folder = pathlib.Path(sys.argv[1])
shutil.rmtree(folder, ignore_errors=True)
clone = folder / "a clone"  # a path with a space
clone.mkdir(parents=True)
for path in ROOT.iterdir():
    if path.name in ("docs", "examples"):
        shutil.copytree(path, clone / path.name)
    elif path.is_file():
        shutil.copy(path, clone)
    elif path.name not in (".git", "build"):
        (clone / path.name).symlink_to(path)
folder = folder / "made"


def site(into):
    return subprocess.run([sys.executable, clone / "docs" / "site" / "build_site.py", into], capture_output=True, text=True)


(folder / "html").mkdir(parents=True)
(folder / "html" / "own.html").write_text("another's page")
(folder / "file").touch()
for into, what in ((folder, f"{folder / 'html'}: is there"), (folder / "file", "Not a directory")):
    refused = site(into)
    assert refused.returncode == 1 and what in refused.stderr and refused.stderr.count("\n") == 1, refused.stderr
shutil.rmtree(folder)
made = site(folder)
assert made.returncode == 0, made.stderr
html = folder / "html"
assert made.stdout.strip() == str(html / "index.html"), made.stdout
for guide in (ROOT / "docs").glob("*.md"):
    assert (html / f"guide_{guide.stem}.html").exists(), guide
headers = list((ROOT / "include").rglob("*.hpp"))
listed = set(re.findall(r'href="(\w+_8hpp)(?:_source)?\.html"', (html / "files.html").read_text()))
assert len(listed) == len(headers), (len(listed), len(headers))
attention = (html / "ops_2attention_8hpp.html").read_text()
assert "precast::attention_into" in attention and "PRECAST_BACKEND" not in attention, "names of a backend"
assert "Vaswani et al. 2017" in attention, "a sentence ends after al."
outside = set(re.findall(r'(?:src|href)="(https?://[^"]+)"', (html / "index.html").read_text()))
assert not outside, outside  # of the page's own: guides may link
assert "'.*=q4_k'</code>" in (html / "guide_convert.html").read_text(), "code with an apostrophe is no code"
cuda = (html / "guide_examples.html").read_text()
assert "<code>nvcc -std=c++20" in cuda and "[program]" not in cuda, "what examples begin with"
assert "color-scheme: dark" in (html / "search" / "search.css").read_text(), "what was found has no dark colours"
assert any("attention_into" in path.read_text() for path in (html / "search").glob("functions_*.js"))
browser = shutil.which("chromium")
if browser:  # on a narrow screen the page has the whole width, below the list of pages
    asked = "<script>onload = () => setTimeout(() => document.title = document.getElementById('doc-content').offsetWidth)</script>"
    (html / "narrow.html").write_text((html / "index.html").read_text().replace("</body>", asked + "</body>"))
    seen = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'browser'}",
                           "--window-size=600,900", "--virtual-time-budget=5000", "--dump-dom", html / "narrow.html"],
                          capture_output=True, text=True)
    assert seen.returncode == 0, seen.stderr
    assert int(re.search(r"<title>(.*?)</title>", seen.stdout)[1]) >= 560, "a narrow screen is shared with the list of pages"
shutil.rmtree(folder.parent)

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
made = subprocess.run([sys.executable, ROOT / "docs" / "site" / "build_site.py", folder], capture_output=True, text=True)
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
assert any("attention_into" in path.read_text() for path in (html / "search").glob("functions_*.js"))
shutil.rmtree(folder)

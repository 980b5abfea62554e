"""Writes formats_golden.json: JPEG and WebP files of every kind, as Pillow writes and reads them.

    python tests/image/make_format_goldens.py        # needs Pillow >= 11, NumPy and piexif
"""

import io
import json
import pathlib

import numpy as np
import piexif
import piexif.helper
from PIL import Image, ImageOps
from PIL.PngImagePlugin import PngInfo

FOLDER = pathlib.Path(__file__).parent
SIZE = (21, 13)


def picture(mode="RGB"):
  """Smooth, with an edge and a corner of noise: all that codecs treat differently."""
  x, y = np.meshgrid(np.arange(SIZE[0]), np.arange(SIZE[1]))
  values = np.stack([x * 12, y * 19, (x + y) * 7, 255 - x * 5], -1) % 256
  values[4:9, 6:11] = [250, 20, 40, 10]
  values[:4, :4] = np.random.default_rng(3).integers(0, 256, (4, 4, 4))
  channels = {"L": 1, "RGB": 3, "RGBA": 4, "CMYK": 4}[mode]
  return Image.fromarray(values[..., :channels].astype(np.uint8).squeeze(), mode)


def exif(comment=None, orientation=None):
  block = {"0th": {}, "Exif": {}}
  if orientation:
    block["0th"][piexif.ImageIFD.Orientation] = orientation
  if comment is not None:
    block["Exif"][piexif.ExifIFD.UserComment] = piexif.helper.UserComment.dump(comment, encoding="unicode")
  return piexif.dump(block)


def xmp(orientation, as_element=False):
  told = f">\n <tiff:Orientation>{orientation}</tiff:Orientation>\n" if as_element else f' tiff:Orientation="{orientation}">'
  return ('<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
          f'<rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/"{told}</rdf:Description></rdf:RDF></x:xmpmeta>')


def in_png(text):
  info = PngInfo()
  info.add_itxt("XML:com.adobe.xmp", text)
  return info


def files():
  text = "a cat, \u732b \U0001f408\nSteps: 20, Sampler: Euler, Seed: 1, Size: 21x13"
  yield "jpeg rgb 444", picture(), "JPEG", {"quality": 90, "subsampling": 0}
  yield "jpeg rgb 420", picture(), "JPEG", {"quality": 80, "subsampling": 2}
  yield "jpeg rgb 422", picture(), "JPEG", {"quality": 80, "subsampling": 1}
  yield "jpeg progressive", picture(), "JPEG", {"quality": 85, "progressive": True}
  yield "jpeg grey", picture("L"), "JPEG", {"quality": 85}
  yield "jpeg grey progressive", picture("L"), "JPEG", {"quality": 85, "progressive": True}
  yield "jpeg cmyk", picture("CMYK"), "JPEG", {"quality": 90}
  yield "jpeg restarts", picture(), "JPEG", {"quality": 85, "restart_marker_rows": 1}
  yield "jpeg text", picture(), "JPEG", {"quality": 85, "exif": exif(text)}
  yield "webp lossy", picture(), "WEBP", {"quality": 80}
  yield "webp lossless", picture(), "WEBP", {"lossless": True}
  yield "webp lossy alpha", picture("RGBA"), "WEBP", {"quality": 80}
  yield "webp lossless alpha", picture("RGBA"), "WEBP", {"lossless": True, "exact": True}
  yield "webp text", picture(), "WEBP", {"lossless": True, "exif": exif(text)}
  for orientation in range(1, 9):
    yield f"jpeg orientation {orientation}", picture(), "JPEG", {"quality": 90, "subsampling": 0,
                                                                "exif": exif(orientation=orientation)}
  yield "webp orientation 6", picture(), "WEBP", {"lossless": True, "exif": exif(orientation=6)}
  yield "png orientation 5", picture(), "PNG", {"exif": exif(orientation=5)}
  yield "png orientation 8", picture(), "PNG", {"exif": exif(orientation=8)}
  # EXIF's counts before XMP's.
  sharp = {"quality": 90, "subsampling": 0}
  yield "jpeg xmp orientation 6", picture(), "JPEG", sharp | {"xmp": xmp(6).encode()}
  yield "jpeg both orientations", picture(), "JPEG", sharp | {"xmp": xmp(6).encode(), "exif": exif(orientation=3)}
  yield "jpeg xmp orientation, exif without", picture(), "JPEG", sharp | {"xmp": xmp(8, True).encode(), "exif": exif()}
  yield "webp xmp orientation 5", picture(), "WEBP", {"lossless": True, "xmp": xmp(5, True).encode()}
  yield "png xmp orientation 7", picture(), "PNG", {"pnginfo": in_png(xmp(7))}


def main():
  found = {}
  for name, image, kind, options in files():
    written = io.BytesIO()
    image.save(written, kind, **options)
    data = written.getvalue()
    shown = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")
    golden = {"file": data.hex(), "size": list(shown.size), "rgb": shown.tobytes().hex()}
    if "text" in name:
      comment = piexif.load(options["exif"])["Exif"][piexif.ExifIFD.UserComment]
      golden["text"] = piexif.helper.UserComment.load(comment)
    found[name] = golden
  (FOLDER / "formats_golden.json").write_text(json.dumps(found, indent=0) + "\n")


if __name__ == "__main__":
  main()

"""What each folder's tokenizers make of the 200 prompts."""

import json

from transformers import CLIPTokenizer, T5TokenizerFast

import models
import prompts

FOLDERS = ["dev_f32", "schnell_bf16", "dev_f16", "static_sharded"]


def write(folder, path):
  """expected/tokenizers.json"""
  texts = prompts.prompts()
  found = {}
  for name in FOLDERS:
    clip = CLIPTokenizer.from_pretrained(f"{folder}/{name}/tokenizer")
    t5 = T5TokenizerFast.from_pretrained(f"{folder}/{name}/tokenizer_2")
    lengths = (clip.model_max_length, min(512, t5.model_max_length))
    if lengths != (models.SPECS[name]["tokenizer"]["length"], models.SPECS[name]["tokenizer_2"]["length"]):
      raise ValueError(f"{name}: the tokenizers' lengths are {lengths}")
    found[name] = {"clip_length": lengths[0], "t5_length": lengths[1],
                   "clip": [clip(text, truncation=True, max_length=lengths[0]).input_ids for text in texts],
                   "t5": [t5(text, truncation=True, max_length=lengths[1]).input_ids for text in texts]}
  with open(path, "w", encoding="utf-8") as f:
    f.write('{"prompts": ' + json.dumps(texts) + ',\n"folders": {\n')
    f.write(",\n".join(f'"{name}": ' + json.dumps(entry, separators=(",", ":")) for name, entry in found.items()))
    f.write("\n}}\n")

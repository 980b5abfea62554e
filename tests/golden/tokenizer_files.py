"""Trains the tiny tokenizers and writes their files the way that Flux folders have them."""

import io
import json
import os
import shutil
import tempfile

import regex
import sentencepiece as spm
from sentencepiece.sentencepiece_model_pb2 import ModelProto
import unicodedata

import corpus

START, END = "<|startoftext|>", "<|endoftext|>"


def byte_alphabet():
  """GPT-2's printable stand-in for every byte: byte -> character."""
  printable = list(range(0x21, 0x7f)) + list(range(0xa1, 0xad)) + list(range(0xae, 0x100))
  table, spare = {}, 0
  for byte in range(256):
    if byte in printable:
      table[byte] = chr(byte)
    else:
      table[byte] = chr(256 + spare)
      spare += 1
  return table


def train_bpe(merge_count, sentences=(0, None)):
  """Merges of a byte-level BPE with </w> endings; ties go to the smaller pair, so it is deterministic."""
  alphabet = byte_alphabet()
  pattern = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", regex.IGNORECASE)
  counts = {}
  for line in corpus.sentences(*sentences):
    for word in pattern.findall(unicodedata.normalize("NFC", line).lower()):
      symbols = [alphabet[b] for b in word.encode("utf-8")]
      symbols[-1] += "</w>"
      counts[tuple(symbols)] = counts.get(tuple(symbols), 0) + 1
  merges = []
  while len(merges) < merge_count:
    pairs = {}
    for symbols, count in counts.items():
      for pair in zip(symbols, symbols[1:]):
        pairs[pair] = pairs.get(pair, 0) + count
    best = min(pairs, key=lambda pair: (-pairs[pair], pair))
    merges.append(best)
    merged = {}
    for symbols, count in counts.items():
      out, i = [], 0
      while i < len(symbols):
        if symbols[i:i + 2] == best:
          out.append(best[0] + best[1])
          i += 2
        else:
          out.append(symbols[i])
          i += 1
      merged[tuple(out)] = merged.get(tuple(out), 0) + count
    counts = merged
  return merges


def clip_vocabulary(merges, specials_first):
  """Token -> id: the two special tokens stand last, as in CLIP's own vocabulary, or first."""
  letters = list(byte_alphabet().values())
  tokens = letters + [c + "</w>" for c in letters] + [a + b for a, b in merges]
  tokens = list(dict.fromkeys(tokens))
  tokens = [START, END] + tokens if specials_first else tokens + [START, END]
  return {token: i for i, token in enumerate(tokens)}


def dump(path, value):
  with open(path, "w", encoding="utf-8") as f:
    json.dump(value, f, ensure_ascii=False, **({"separators": (",", ":")} if "vocab" in path else {"indent": 2}))
    f.write("\n")


def special(content, normalized):
  return {"content": content, "lstrip": False, "normalized": normalized, "rstrip": False, "single_word": False}


def write_clip(folder, spec):
  """tokenizer/: vocab.json + merges.txt ("legacy"), or tokenizer.json alone ("json")."""
  shutil.rmtree(folder, ignore_errors=True)
  os.makedirs(folder)
  merges = train_bpe(spec["merges"], spec.get("sentences", (0, None)))
  vocabulary = clip_vocabulary(merges, spec.get("specials_first", False))
  pad = spec.get("pad", END)
  if spec["files"] == "legacy":
    dump(f"{folder}/vocab.json", vocabulary)
    with open(f"{folder}/merges.txt", "w", encoding="utf-8") as f:
      f.write("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges))
    dump(f"{folder}/special_tokens_map.json",
         {"bos_token": special(START, True), "eos_token": special(END, True), "pad_token": pad,
          "unk_token": special(END, True)})
    dump(f"{folder}/tokenizer_config.json",
         {"add_prefix_space": False, "added_tokens_decoder": {
             str(vocabulary[START]): special(START, True) | {"special": True},
             str(vocabulary[END]): special(END, True) | {"special": True}},
          "bos_token": START, "clean_up_tokenization_spaces": True, "do_lower_case": True, "eos_token": END,
          "errors": "replace", "model_max_length": spec["length"], "pad_token": pad,
          "tokenizer_class": "CLIPTokenizer", "unk_token": END})
  else:
    from transformers import CLIPTokenizer
    CLIPTokenizer(vocab=vocabulary, merges=[tuple(m) for m in merges], pad_token=pad,
                  model_max_length=spec["length"]).save_pretrained(folder)
  return vocabulary


def small_rule():
  """A normaliser table of our own: lower case, full width, ligatures, composition, removal, spaces."""
  rules = {chr(c): chr(c + 32) for c in range(0x41, 0x5b)}
  rules |= {chr(0xff01 + i): chr(0x21 + i) for i in range(94)}
  rules |= {"\ufb01": "fi", "\ufb02": "fl", "\u00bd": "1/2", "\u2103": "\u00b0c", "\u2026": "...", "\u00df": "ss",
            "\u3000": " ", "\t": " ", "\n": " ", "\u00a0": " ", "\u200b": "", "\ufeff": "", "\u00ad": "",
            "e\u0301": "\u00e9", "o\u0302\u0301": "\u1ed1", "o\u0302": "\u00f4", "\u304b\u3099": "\u304c",
            "\U0001f642": ":)", "\u2764\ufe0f": "<3", "\u0130": "i"}
  hexadecimal = lambda text: " ".join(f"{ord(c):X}" for c in text)
  return "".join(f"{hexadecimal(source)}\t{hexadecimal(target)}\n" for source, target in rules.items())


def train_unigram(pieces, rule, sentences=(0, None)):
  """The bytes of a T5-style spiece.model: <pad> 0, </s> 1, <unk> 2, no <s>."""
  model = io.BytesIO()
  with tempfile.NamedTemporaryFile("w", suffix=".tsv", encoding="utf-8") as table:
    table.write(small_rule())
    table.flush()
    option = {"normalization_rule_tsv": table.name} if rule == "small" else {"normalization_rule_name": rule}
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus.sentences(*sentences)), model_writer=model, model_type="unigram", vocab_size=pieces,
        character_coverage=0.98, pad_id=0, eos_id=1, unk_id=2, bos_id=-1, num_threads=1,
        hard_vocab_limit=False, minloglevel=2, **option)
  proto = ModelProto.FromString(model.getvalue())
  proto.normalizer_spec.normalization_rule_tsv = ""  # the path of a temporary file
  return proto.SerializeToString()


def write_t5(folder, spec):
  """tokenizer_2/: "spiece" (spiece.model), "both" (and tokenizer.json) or "json" (tokenizer.json alone)."""
  shutil.rmtree(folder, ignore_errors=True)
  os.makedirs(folder)
  from transformers import T5TokenizerFast
  with open(f"{folder}/spiece.model", "wb") as f:
    f.write(train_unigram(spec["pieces"], spec["rule"], spec.get("sentences", (0, None))))
  extra = [f"<extra_id_{i}>" for i in range(spec["extra_ids"])]
  config = {"additional_special_tokens": extra, "clean_up_tokenization_spaces": True, "eos_token": "</s>",
            "extra_ids": spec["extra_ids"], "legacy": True, "model_max_length": spec["length"], "pad_token": "<pad>",
            "sp_model_kwargs": {}, "tokenizer_class": "T5Tokenizer", "unk_token": "<unk>"}
  dump(f"{folder}/tokenizer_config.json", config)
  tokenizer = T5TokenizerFast.from_pretrained(folder)
  if spec["files"] != "spiece":
    tokenizer.save_pretrained(folder)
    if spec["files"] == "json":
      if os.path.exists(f"{folder}/spiece.model"):
        os.remove(f"{folder}/spiece.model")
  if spec["files"] == "both":
    dump(f"{folder}/tokenizer_config.json", config)
  if spec["files"] != "json":
    dump(f"{folder}/special_tokens_map.json",
         {"additional_special_tokens": extra, "eos_token": special("</s>", False), "pad_token": special("<pad>", False),
          "unk_token": special("<unk>", False)})
  return len(tokenizer)

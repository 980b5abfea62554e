"""Makes the two tokenizers of `shapes` from its own captions: a byte-level BPE and a unigram model."""

import collections
import io
import json
import pathlib
import random

import sentencepiece

import captions
import draw

CLIP_LENGTH = 77
T5_LENGTH = 32
# A little everyday text so that free prompts do not fall apart into letters.
EXTRA_TEXT = """please draw paint me a picture photo image drawing painting of the with and in on at to from
for by an simple plain bright dark light very nice beautiful one two shape shapes colour color colored
coloured background side corner edge upper lower above below between is are there it that this which
has have shown placed sits lies pink grey gray brown cyan cat dog house tree sun moon sky sea small
smaller large larger medium size sized round geometric figure flat minimal clean sharp icon logo
flag white black paper canvas style modern abstract art""".split()


def byte_alphabet():
    """The printable stand-in for each byte: printable Latin-1 as itself, the others from U+0100 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {byte: chr(byte) for byte in printable}
    table.update({byte: chr(256 + i) for i, byte in enumerate(others)})
    return [table[byte] for byte in printable + others]


def corpus(count=20000, seed=1):
    rng = random.Random(seed)
    known = draw.training_descriptions()
    return [captions.caption(rng.choice(known), rng)[0] for _ in range(count)]


def words_of(lines):
    words = collections.Counter()
    for line in lines:
        words.update(line.replace(",", " , ").replace(":", " : ").replace("-", " - ").split())
    words.update({word: 40 for word in EXTRA_TEXT})
    return words


def train_clip(folder: pathlib.Path, lines, merge_count=420):
    alphabet = byte_alphabet()
    words = {tuple([*word[:-1], word[-1] + "</w>"]): count for word, count in sorted(words_of(lines).items())}
    merges = []
    while len(merges) < merge_count:
        pairs = collections.Counter()
        for pieces, count in words.items():
            for pair in zip(pieces, pieces[1:]):
                pairs[pair] += count
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        merged = {}
        for pieces, count in words.items():
            out, i = [], 0
            while i < len(pieces):
                if pieces[i : i + 2] == best:
                    out.append(pieces[i] + pieces[i + 1])
                    i += 2
                else:
                    out.append(pieces[i])
                    i += 1
            merged[tuple(out)] = merged.get(tuple(out), 0) + count
        words = merged
    pieces = alphabet + [letter + "</w>" for letter in alphabet] + ["".join(pair) for pair in merges]
    vocabulary = {
        piece: i for i, piece in enumerate(dict.fromkeys(pieces + ["<|startoftext|>", "<|endoftext|>"]))
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges))
    start, end = "<|startoftext|>", "<|endoftext|>"
    special = {"bos_token": start, "eos_token": end, "unk_token": end, "pad_token": end}
    (folder / "special_tokens_map.json").write_text(json.dumps(special, indent=2) + "\n")
    (folder / "tokenizer_config.json").write_text(
        json.dumps(
            {
                **special,
                "add_prefix_space": False,
                "clean_up_tokenization_spaces": True,
                "do_lower_case": True,
                "errors": "replace",
                "model_max_length": CLIP_LENGTH,
                "tokenizer_class": "CLIPTokenizer",
            },
            indent=2,
        )
        + "\n"
    )
    return len(vocabulary)


def train_t5(folder: pathlib.Path, lines, pieces=384):
    folder.mkdir(parents=True, exist_ok=True)
    model = io.BytesIO()
    rng = random.Random(2)
    extra = [" ".join(rng.sample(EXTRA_TEXT, 6)) for _ in range(3000)]
    letters = ["".join(map(chr, range(33, 127)))] * 3
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines + extra + letters),
        model_writer=model,
        model_type="unigram",
        vocab_size=pieces,
        normalization_rule_name="identity",
        character_coverage=1.0,
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
        pad_piece="<pad>",
        eos_piece="</s>",
        unk_piece="<unk>",
        num_threads=1,
        hard_vocab_limit=False,
        minloglevel=2,
        max_sentencepiece_length=16,
    )
    (folder / "spiece.model").write_bytes(model.getvalue())
    special = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    (folder / "special_tokens_map.json").write_text(json.dumps(special, indent=2) + "\n")
    (folder / "tokenizer_config.json").write_text(
        json.dumps(
            {
                **special,
                "extra_ids": 0,
                "additional_special_tokens": [],
                "model_max_length": T5_LENGTH,
                "legacy": False,
                "clean_up_tokenization_spaces": True,
                "tokenizer_class": "T5Tokenizer",
            },
            indent=2,
        )
        + "\n"
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue()).get_piece_size()


def make(folder: pathlib.Path):
    """Writes tokenizer/ and tokenizer_2/ under `folder`; returns the two vocabulary sizes."""
    lines = corpus()
    return train_clip(folder / "tokenizer", lines), train_t5(folder / "tokenizer_2", lines)

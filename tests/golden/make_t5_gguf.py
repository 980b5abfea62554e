"""expected/one_level.tokenizer.gguf: T5's tokenizer in a GGUF file, with the keys of llama.cpp's converter.

    python -m venv venv && venv/bin/pip install sentencepiece protobuf gguf==0.19.0 && venv/bin/python make_t5_gguf.py
"""

import pathlib

import gguf
import sentencepiece as spm
from sentencepiece.sentencepiece_model_pb2 import ModelProto

FREE = 128  # ids behind the pieces, of T5's own vocabulary of 32,128 too


def piece_type(pieces, number):
  for is_of, name in ((pieces.IsUnknown, "UNKNOWN"), (pieces.IsControl, "CONTROL"), (pieces.IsUnused, "UNUSED"),
                      (pieces.IsByte, "BYTE")):
    if is_of(number):
      return gguf.TokenType[name]
  return gguf.TokenType.NORMAL


def main():
  here = pathlib.Path(__file__).parent
  model = here / "models" / "one_level" / "tokenizer_2" / "spiece.model"
  pieces = spm.SentencePieceProcessor(str(model))
  normalizer = ModelProto.FromString(model.read_bytes()).normalizer_spec
  count = pieces.GetPieceSize()

  writer = gguf.GGUFWriter(here / "expected" / "one_level.tokenizer.gguf", "t5encoder")
  writer.add_context_length(512)
  writer.add_tokenizer_model("t5")
  writer.add_tokenizer_pre("default")
  writer.add_token_list([pieces.IdToPiece(i) for i in range(count)] + [f"[PAD{i}]" for i in range(count, count + FREE)])
  writer.add_token_scores([pieces.GetScore(i) for i in range(count)] + [-10000.0] * FREE)
  writer.add_token_types([int(piece_type(pieces, i)) for i in range(count)] + [int(gguf.TokenType.UNUSED)] * FREE)
  writer.add_add_space_prefix(normalizer.add_dummy_prefix)
  writer.add_remove_extra_whitespaces(normalizer.remove_extra_whitespaces)
  writer.add_precompiled_charsmap(normalizer.precompiled_charsmap)
  writer.add_eos_token_id(1)
  writer.add_unk_token_id(2)
  writer.add_pad_token_id(0)
  writer.add_add_bos_token(False)
  writer.add_add_eos_token(True)
  writer.write_header_to_file()
  writer.write_kv_data_to_file()
  writer.write_tensors_to_file()
  writer.close()


main()

// Tokenizers: each file of their folders, and prompts.
#include <fuzz/input_file.hpp>
#include <fuzz/target.hpp>
#include <text/clip_tokenizer.hpp>
#include <text/t5_tokenizer.hpp>

namespace precast::testing {

namespace {

template <class Tokenizer>
void load_and_encode(const InputFolder& folder, std::span<const std::byte> input) {
  folder.put(input);
  answer_or_refusal([&] {
    const auto tokenizer = Tokenizer::load(folder.path());
    tokenizer.encode(
        "a large red circle on a Bl\xc3\xbc"
        "e <|endoftext|> <extra_id_3>\xff \t\n",
        77);
  });
}

}  // namespace

void fuzz_clip_tokenizer_json(std::span<const std::byte> input) {
  static const InputFolder folder("tests/golden/models/dev_f16/tokenizer", "tokenizer.json");
  load_and_encode<text::ClipTokenizer>(folder, input);
}
void fuzz_clip_vocabulary(std::span<const std::byte> input) {
  static const InputFolder folder("tests/golden/models/static_sharded/tokenizer", "vocab.json");
  load_and_encode<text::ClipTokenizer>(folder, input);
}
void fuzz_clip_merges(std::span<const std::byte> input) {
  static const InputFolder folder("tests/golden/models/static_sharded/tokenizer", "merges.txt");
  load_and_encode<text::ClipTokenizer>(folder, input);
}
void fuzz_clip_settings(std::span<const std::byte> input) {
  static const InputFolder folder("tests/golden/models/static_sharded/tokenizer", "tokenizer_config.json");
  load_and_encode<text::ClipTokenizer>(folder, input);
}
void fuzz_t5_tokenizer_json(std::span<const std::byte> input) {
  static const InputFolder folder("tests/golden/models/dev_f16/tokenizer_2", "tokenizer.json");
  load_and_encode<text::T5Tokenizer>(folder, input);
}
void fuzz_t5_pieces(std::span<const std::byte> input) {
  static const InputFolder folder("reference_pipeline/shapes/model/tokenizer_2", "spiece.model");
  load_and_encode<text::T5Tokenizer>(folder, input);
}
void fuzz_t5_settings(std::span<const std::byte> input) {
  static const InputFolder folder("reference_pipeline/shapes/model/tokenizer_2", "tokenizer_config.json");
  load_and_encode<text::T5Tokenizer>(folder, input);
}
void fuzz_t5_gguf(std::span<const std::byte> input) {
  const InputFile file(input);
  answer_or_refusal(
      [&] { text::T5Tokenizer::load(file.path()).encode("a large <extra_id_3>\xff \t\n", 77); });
}

void fuzz_prompt(std::span<const std::byte> input) {
  const std::filesystem::path model =
      std::filesystem::path(PRECAST_SOURCE_DIR) / "reference_pipeline/shapes/model";
  static const auto clip = text::ClipTokenizer::load(model / "tokenizer");
  static const auto t5 = text::T5Tokenizer::load(model / "tokenizer_2");
  if (clip.encode(as_text(input), 77).size() > 77 || t5.encode(as_text(input), 512).size() > 512)
    throw std::logic_error("more tokens than were asked for");
}

}  // namespace precast::testing

// Files of weights: GGUF, safetensors, and the index of a model in shards.
#include <fuzz/input_file.hpp>
#include <fuzz/target.hpp>
#include <weights/weight_tensors.hpp>

#include <precast/io/component_source.hpp>
#include <precast/io/gguf.hpp>

namespace precast::testing {

namespace {

/// Every byte that a reader calls a tensor's must lie in the map.
unsigned touch(std::span<const std::byte> bytes) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 4096) sum += std::to_integer<unsigned>(bytes[i]);
  if (!bytes.empty()) sum += std::to_integer<unsigned>(bytes.back());
  return sum;
}

volatile unsigned seen;  // keeps the compiler from leaving the reads out

void read_value(const io::GgufValue& value) {
  answer_or_refusal([&] { seen = static_cast<unsigned>(value.texts().size()); });
  answer_or_refusal([&] { seen = static_cast<unsigned>(value.integers().size()); });
  answer_or_refusal([&] { seen = static_cast<unsigned>(value.reals().size()); });
  answer_or_refusal([&] { seen = static_cast<unsigned>(value.text().size()); });
  answer_or_refusal([&] { seen = value.boolean(); });
}

/// Values and blocks of a weight that has scales beside it, of such as stand for a few.
void read_weight(const weights::WeightTensor& weight) {
  constexpr std::int64_t most = 1 << 16;
  if (weight.shape.elements() > most) return;
  if (weight.decoding)
    answer_or_refusal([&] {
      std::vector<f32> values(static_cast<std::size_t>(weight.shape.elements()));
      weight.decoding->decode(0, values);
      seen = touch(std::as_bytes(std::span(values)));
    });
  if (weight.held)
    answer_or_refusal([&] {
      std::vector<std::byte> blocks(static_cast<std::size_t>(weight.held->bytes));
      weight.held->arrange(blocks);
      seen = touch(blocks);
    });
}

}  // namespace

void fuzz_gguf(std::span<const std::byte> input) {
  const InputFile file(input);
  answer_or_refusal([&] {
    const io::GgufFile gguf(file.path());
    for (const auto& tensor : gguf.tensors())
      seen = touch(tensor.bytes) + (gguf.lookup(tensor.name) != nullptr);
    for (const auto& value : gguf.values()) read_value(value);
  });
}

void fuzz_safetensors(std::span<const std::byte> input) {
  const InputFile file(input);
  answer_or_refusal([&] {
    const io::SafetensorsFile tensors(file.path());
    for (const auto& tensor : tensors.tensors()) seen = touch(tensor.bytes);
    const io::ComponentSource source(file.path());
    for (const char* prefix : {"", "m."})
      answer_or_refusal([&] {
        const weights::WeightTensors found(source, prefix);
        for (const auto& [name, weight] : found.all()) read_weight(weight);
      });
  });
}

void fuzz_shards(std::span<const std::byte> input) {
  static const InputFolder folder("tests/golden/models/static_sharded/text_encoder",
                                  "model.safetensors.index.json");
  folder.put(input);
  answer_or_refusal([] {
    const io::ComponentSource source(folder.path());
    for (const auto* tensor : source.tensors()) seen = touch(source.find(tensor->name).bytes);
  });
}

}  // namespace precast::testing

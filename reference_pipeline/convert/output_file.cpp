// Writes what either kind of file has beside its tensors, and checks that the disk has room for all of it.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <system_error>
#include <type_traits>
#include <utility>

#include <convert/output_file.hpp>
#include <convert/scaled_weight.hpp>

namespace precast::conversion {

namespace fs = std::filesystem;

namespace {

using Writer = std::variant<io::SafetensorsWriter, io::GgufWriter>;

/// general.file_type: ggml's number for "most tensors are of this type".
constexpr std::array<std::pair<std::string_view, std::uint32_t>, 17> file_types{{{"f32", 0},
                                                                                 {"f16", 1},
                                                                                 {"q4_0", 2},
                                                                                 {"q4_1", 3},
                                                                                 {"q8_0", 7},
                                                                                 {"q5_0", 8},
                                                                                 {"q5_1", 9},
                                                                                 {"q2_k", 10},
                                                                                 {"q3_k", 11},
                                                                                 {"q4_k", 14},
                                                                                 {"q5_k", 16},
                                                                                 {"q6_k", 18},
                                                                                 {"iq4_nl", 25},
                                                                                 {"iq4_xs", 30},
                                                                                 {"bf16", 32},
                                                                                 {"mxfp4", 38},
                                                                                 {"nvfp4", 39}}};
constexpr std::uint32_t quantization_version = 2;

/// The type that has most of the bytes.
std::uint32_t file_type(const std::vector<OutputTensor>& tensors) {
  std::map<std::string_view, std::int64_t> values;
  for (const OutputTensor& tensor : tensors) values[tensor.chosen.type.name] += tensor.shape.elements();
  std::pair<std::string_view, std::int64_t> most{"f32", -1};
  for (const auto& [type, count] : values)
    if (count > most.second) most = {type, count};
  for (const auto& [type, number] : file_types)
    if (type == most.first) return number;
  return 0;
}

Writer opened(const fs::path& target, Container container) {
  if (container == Container::gguf) return Writer(std::in_place_type<io::GgufWriter>, target);
  return Writer(std::in_place_type<io::SafetensorsWriter>, target);
}

void describe(io::GgufWriter& writer, const InputWeights& input, WeightsKind kind,
              const std::vector<OutputTensor>& tensors) {
  constexpr std::array<std::string_view, 3> own{"general.architecture", "general.file_type",
                                                "general.quantization_version"};
  const auto is_given = [&](std::string_view key) {
    return std::ranges::any_of(input.values(),
                               [&](const io::GgufValue& value) { return value.key() == key; });
  };
  if (const std::string_view architecture = gguf_architecture(kind); !architecture.empty())
    writer.set(own[0], architecture);
  else if (is_given(own[0]))
    for (const io::GgufValue& value : input.values())
      if (value.key() == own[0]) writer.set(value);
  writer.set(own[1], file_type(tensors));
  writer.set(own[2], quantization_version);
  // Shapes are written as they are, and in one file: what an older one said of its own would be wrong.
  for (const io::GgufValue& value : input.values())
    if (std::ranges::find(own, value.key()) == own.end() && !value.key().starts_with("comfy.gguf.") &&
        !value.key().starts_with("split."))
      writer.set(value);
}

void describe(io::SafetensorsWriter& writer, const InputWeights& input, WeightsKind,
              const std::vector<OutputTensor>&) {
  for (const auto& [key, text] : input.metadata()) writer.set(key, text);
  // transformers refuses a file that does not say it.
  if (!input.metadata().contains("format")) writer.set("format", "pt");
}

}  // namespace

std::int64_t bytes_of(const std::vector<OutputTensor>& tensors, Container container) {
  return std::transform_reduce(
      tensors.begin(), tensors.end(), std::int64_t{0}, std::plus<>(),
      [container](const OutputTensor& tensor) { return bytes_in(tensor, container); });
}

void check_room(const fs::path& target, std::int64_t bytes) {
  std::error_code failed;
  const fs::path named = target.has_filename() ? target : target.parent_path();
  const fs::path folder = named.has_parent_path() ? named.parent_path() : ".";
  const fs::space_info space = fs::space(folder, failed);
  if (!failed && space.available < static_cast<std::uintmax_t>(bytes))
    throw io::file_error(target, "needs " + std::to_string(bytes) + " bytes, and its disk has " +
                                     std::to_string(space.available) +
                                     " free: free some space, or choose another place");
}

std::string_view gguf_architecture(WeightsKind kind) {
  return kind == WeightsKind::flux ? "flux" : kind == WeightsKind::t5 ? "t5encoder" : "";
}

OutputFile::OutputFile(const fs::path& target, Container container, const InputWeights& input,
                       WeightsKind kind, const std::vector<OutputTensor>& tensors)
    : writer_(opened(target, container)) {
  check_room(target, bytes_of(tensors, container));
  std::visit(
      [&](auto& writer) {
        describe(writer, input, kind, tensors);
        for (const OutputTensor& tensor : tensors) {
          if constexpr (std::is_same_v<std::decay_t<decltype(writer)>, io::SafetensorsWriter>)
            if (is_scaled(tensor.chosen.type, container)) {
              declare_scaled(writer, tensor);
              continue;
            }
          writer.declare(tensor.name, tensor.chosen.type, tensor.shape);
        }
      },
      writer_);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  std::visit([&](auto& writer) { writer.write(bytes); }, writer_);
}

void OutputFile::commit() {
  std::visit([](auto& writer) { writer.commit(); }, writer_);
}

}  // namespace precast::conversion

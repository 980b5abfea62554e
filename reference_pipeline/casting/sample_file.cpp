#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include <casting/sample_file.hpp>

#include <precast/io/content_hash.hpp>
#include <precast/io/message.hpp>
#include <precast/io/safetensors.hpp>
#include <precast/io/write_safetensors.hpp>

namespace precast::casting {

namespace {

constexpr std::string_view format_key = "format", format_name = "precast samples 1";
/// Tensors of each sample: a transformer's have positions, a UNet's have none.
constexpr std::size_t parts_of_transformer = 5, parts_of_unet = 4;

bool is_of_unet(const families::BlockState& state) { return state.prompt.elements() > 0; }

std::string tensor_name(std::size_t sample, std::string_view part) {
  return std::to_string(sample) + '.' + std::string(part);
}

/// A tensor of a sample file, checked: finite F32 of `rank` dimensions and `columns` columns (0: any).
HostView<const f32> checked(const io::SafetensorsFile& file, std::size_t sample, std::string_view part,
                            std::int64_t columns, std::size_t rank = 2) {
  const io::TensorEntry& entry = file.at(tensor_name(sample, part));
  const auto wrong = [&](const std::string& problem) {
    return io::tensor_error(file.path(), entry.name, problem + ": record the samples again");
  };
  if (entry.dtype.info != dtype_info<f32>)
    throw wrong("has dtype " + std::string(entry.dtype.file_name) + ", and samples are F32");
  if (entry.shape.rank() != rank || entry.shape.back() < 1 || (columns && entry.shape.back() != columns))
    throw wrong("has shape " + to_string(entry.shape) + " where rows of " +
                (columns ? std::to_string(columns) + " values" : std::string("one or more values")) +
                (rank == 2 ? "" : " in " + std::to_string(rank) + " dimensions") + " are wanted");
  if (reinterpret_cast<std::uintptr_t>(entry.bytes.data()) % alignof(f32) != 0)
    throw wrong("begins at an odd byte of the file");
  const HostView<const f32> view(reinterpret_cast<const f32*>(entry.bytes.data()), entry.shape);
  const auto lost = std::ranges::find_if(view.values(), [](f32 value) { return !std::isfinite(value); });
  if (lost != view.values().end())
    throw wrong("value " + std::to_string(lost - view.values().begin()) + " is not finite");
  return view;
}

io::FileError wrong_part(const io::SafetensorsFile& file, std::size_t sample, std::string_view part,
                         const std::string& problem) {
  return io::tensor_error(file.path(), tensor_name(sample, part), problem + ": record the samples again");
}

void append(HostTensor<f32>& to, std::int64_t row, HostView<const f32> rows) {
  std::ranges::copy(rows.values(), to.data() + row * to.columns());
}

/// The state of a transformer.
families::BlockState read_tokens(const io::SafetensorsFile& file, std::size_t sample) {
  const HostView<const f32> image = checked(file, sample, "img", 0);
  const HostView<const f32> text = checked(file, sample, "txt", image.columns());
  const HostView<const f32> vec = checked(file, sample, "vec", image.columns());
  const HostView<const f32> positions = checked(file, sample, "positions", 0);
  if (positions.rows() != image.rows() + text.rows())
    throw wrong_part(file, sample, "positions",
                     "has " + std::to_string(positions.rows()) + " rows for " +
                         std::to_string(image.rows() + text.rows()) + " tokens");
  families::BlockState state;
  state.hidden = HostTensor<f32>(Shape{text.rows() + image.rows(), image.columns()});
  state.text_tokens = text.rows();
  append(state.hidden, 0, text);
  append(state.hidden, text.rows(), image);
  state.vec = HostTensor<f32>(vec.shape(), vec.values());
  state.positions = HostTensor<f32>(positions.shape(), positions.values());
  return state;
}

/// The state of a UNet.
families::BlockState read_pictures(const io::SafetensorsFile& file, std::size_t sample) {
  const HostView<const f32> image = checked(file, sample, "img", 0, 4);
  const HostView<const f32> text = checked(file, sample, "txt", 0, 3);
  const HostView<const f32> vec = checked(file, sample, "vec", 0);
  if (text.shape()[0] != image.shape()[0])
    throw wrong_part(file, sample, "txt",
                     "is of " + std::to_string(text.shape()[0]) + " prompts for " +
                         std::to_string(image.shape()[0]) + " predictions");
  families::BlockState state;
  state.hidden = HostTensor<f32>(image.shape(), image.values());
  state.vec = HostTensor<f32>(vec.shape(), vec.values());
  state.prompt = HostTensor<f32>(text.shape(), text.values());
  return state;
}

families::RecordedState read_sample(const io::SafetensorsFile& file, std::size_t sample, bool of_unet) {
  families::RecordedState recorded;
  recorded.state = of_unet ? read_pictures(file, sample) : read_tokens(file, sample);
  const Shape& vec = recorded.state.vec.shape();
  const bool of_each = of_unet && vec[0] == recorded.state.hidden.shape()[0];
  if (vec[0] != 1 && !of_each)
    throw wrong_part(file, sample, "vec", "has shape " + to_string(vec) + ", and one row is expected");
  const HostView<const f32> step = checked(file, sample, "step", 3);
  constexpr f32 most = 1 << 24;
  if (step.rows() != 1 ||
      std::ranges::any_of(step.values(), [](f32 value) { return !(value >= 0 && value <= most); }))
    throw wrong_part(file, sample, "step", "does not hold a picture's number, a step and a timestep");
  recorded.picture = static_cast<std::int64_t>(step.data()[0]);
  recorded.step = static_cast<std::int64_t>(step.data()[1]);
  recorded.timestep = step.data()[2];
  return recorded;
}

}  // namespace

std::uint64_t Samples::fingerprint() const {
  io::ContentHash hash;
  for (const auto& [key, value] : facts)
    for (const std::string& text : {key, value}) hash.add(std::as_bytes(std::span(text)));
  for (const families::RecordedState& sample : recorded) {
    const families::BlockState& state = sample.state;
    for (const auto* tensor : {&state.hidden, &state.vec, &state.positions, &state.prompt})
      hash.add(std::as_bytes(tensor->values()));
    hash.add(std::as_bytes(std::span(&state.text_tokens, 1)));
  }
  return hash.value();
}

void write_samples(const std::filesystem::path& path, const Samples& samples) {
  std::vector<io::NamedTensor> tensors;
  std::vector<std::array<f32, 3>> steps(samples.recorded.size());
  for (std::size_t i = 0; i < samples.recorded.size(); ++i) {
    const families::RecordedState& sample = samples.recorded[i];
    const families::BlockState& state = sample.state;
    const HostView<const f32> hidden = state.hidden;
    steps[i] = {static_cast<f32>(sample.picture), static_cast<f32>(sample.step), sample.timestep};
    const bool of_unet = is_of_unet(state);
    const std::int64_t text = of_unet ? 0 : state.text_tokens;
    tensors.push_back(
        {tensor_name(i, "img"), of_unet ? hidden : hidden.rows_between(text, hidden.rows() - text)});
    tensors.push_back({tensor_name(i, "txt"), of_unet ? state.prompt.view() : hidden.rows_between(0, text)});
    tensors.push_back({tensor_name(i, "vec"), state.vec});
    if (!of_unet) tensors.push_back({tensor_name(i, "positions"), state.positions});
    tensors.push_back({tensor_name(i, "step"), HostView<const f32>(steps[i].data(), Shape{1, 3})});
  }
  std::map<std::string, std::string> facts = samples.facts;
  facts[std::string(format_key)] = format_name;
  io::write_safetensors(path, tensors, facts);
}

Samples read_samples(const std::filesystem::path& path) {
  const io::SafetensorsFile file(path);
  Samples samples;
  samples.facts = file.metadata();
  const auto format = samples.facts.find(std::string(format_key));
  if (format == samples.facts.end() || format->second != format_name)
    throw io::file_error(path, "is not a sample file: give one that `precast record` wrote");
  samples.facts.erase(format);
  const io::TensorEntry* const first = file.lookup(tensor_name(0, "img"));
  const bool of_unet = first && first->shape.rank() == 4;
  const std::size_t parts = of_unet ? parts_of_unet : parts_of_transformer;
  const std::size_t count = file.tensors().size() / parts;
  if (count == 0 || file.tensors().size() % parts != 0)
    throw io::file_error(path, "holds " + std::to_string(file.tensors().size()) +
                                   " tensors, and each sample has " + std::to_string(parts) +
                                   ": record the samples again");
  for (std::size_t i = 0; i < count; ++i) samples.recorded.push_back(read_sample(file, i, of_unet));
  return samples;
}

}  // namespace precast::casting

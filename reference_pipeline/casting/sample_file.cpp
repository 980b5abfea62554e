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
constexpr std::array<std::string_view, 5> parts{"img", "txt", "vec", "positions", "step"};

std::string tensor_name(std::size_t sample, std::string_view part) {
  return std::to_string(sample) + '.' + std::string(part);
}

/// A tensor of a sample file, checked: F32, of so many columns (0: any), finite.
HostView<const f32> checked(const io::SafetensorsFile& file, std::size_t sample, std::string_view part,
                            std::int64_t columns) {
  const io::TensorEntry& entry = file.at(tensor_name(sample, part));
  const auto wrong = [&](const std::string& problem) {
    return io::tensor_error(file.path(), entry.name, problem + ": record the samples anew");
  };
  if (entry.dtype.info != dtype_info<f32>)
    throw wrong("has dtype " + std::string(entry.dtype.file_name) + ", and samples are F32");
  if (entry.shape.rank() != 2 || entry.shape[1] < 1 || (columns && entry.shape[1] != columns))
    throw wrong("has shape " + to_string(entry.shape) + " where rows of " +
                (columns ? std::to_string(columns) + " values" : std::string("one value or more")) +
                " are wanted");
  if (reinterpret_cast<std::uintptr_t>(entry.bytes.data()) % alignof(f32) != 0)
    throw wrong("begins at an odd byte of the file");
  const HostView<const f32> view(reinterpret_cast<const f32*>(entry.bytes.data()), entry.shape);
  const auto lost = std::ranges::find_if(view.values(), [](f32 value) { return !std::isfinite(value); });
  if (lost != view.values().end())
    throw wrong("value " + std::to_string(lost - view.values().begin()) + " is not finite");
  return view;
}

void append(HostTensor<f32>& to, std::int64_t row, HostView<const f32> rows) {
  std::ranges::copy(rows.values(), to.data() + row * to.columns());
}

families::RecordedState read_sample(const io::SafetensorsFile& file, std::size_t sample) {
  const HostView<const f32> image = checked(file, sample, "img", 0);
  const HostView<const f32> text = checked(file, sample, "txt", image.columns());
  const HostView<const f32> vec = checked(file, sample, "vec", image.columns());
  const HostView<const f32> positions = checked(file, sample, "positions", 0);
  const HostView<const f32> step = checked(file, sample, "step", 3);
  const auto wrong = [&](std::string_view part, const std::string& problem) {
    return io::tensor_error(file.path(), tensor_name(sample, part), problem + ": record the samples anew");
  };
  if (vec.rows() != 1) throw wrong("vec", "has shape " + to_string(vec.shape()) + ", and one row is wanted");
  if (positions.rows() != image.rows() + text.rows())
    throw wrong("positions", "has " + std::to_string(positions.rows()) + " rows for " +
                                 std::to_string(image.rows() + text.rows()) + " tokens");
  constexpr f32 most = 1 << 24;
  if (step.rows() != 1 ||
      std::ranges::any_of(step.values(), [](f32 value) { return !(value >= 0 && value <= most); }))
    throw wrong("step", "does not hold a picture's number, a step and a timestep");
  families::RecordedState recorded;
  recorded.state.hidden = HostTensor<f32>(Shape{text.rows() + image.rows(), image.columns()});
  recorded.state.text_tokens = text.rows();
  append(recorded.state.hidden, 0, text);
  append(recorded.state.hidden, text.rows(), image);
  recorded.state.vec = HostTensor<f32>(vec.shape(), vec.values());
  recorded.state.positions = HostTensor<f32>(positions.shape(), positions.values());
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
    for (const auto* tensor : {&state.hidden, &state.vec, &state.positions})
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
    const HostView<const f32> tokens = state.hidden;
    steps[i] = {static_cast<f32>(sample.picture), static_cast<f32>(sample.step), sample.timestep};
    tensors.push_back(
        {tensor_name(i, "img"), tokens.rows_between(state.text_tokens, tokens.rows() - state.text_tokens)});
    tensors.push_back({tensor_name(i, "txt"), tokens.rows_between(0, state.text_tokens)});
    tensors.push_back({tensor_name(i, "vec"), state.vec});
    tensors.push_back({tensor_name(i, "positions"), state.positions});
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
    throw io::file_error(path, "is no sample file: give one that `precast record` wrote");
  samples.facts.erase(format);
  const std::size_t count = file.tensors().size() / parts.size();
  if (count == 0 || file.tensors().size() % parts.size() != 0)
    throw io::file_error(path, "holds " + std::to_string(file.tensors().size()) +
                                   " tensors, and each sample has " + std::to_string(parts.size()) +
                                   ": record the samples anew");
  for (std::size_t i = 0; i < count; ++i) samples.recorded.push_back(read_sample(file, i));
  return samples;
}

}  // namespace precast::casting

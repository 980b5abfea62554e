// Chooses types, then streams: decode, look, encode and write, some MiB at a time.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include <convert/conversion.hpp>
#include <convert/output_file.hpp>
#include <convert/scaled_weight.hpp>
#include <convert/tensor_role.hpp>
#include <convert/write_scaled_weight.hpp>
#include <flux/bfl_names.hpp>
#include <formats/encode_in_range.hpp>
#include <formats/registry.hpp>
#include <weights/layouts.hpp>

#include <precast/host/runtime/parallel.hpp>
#include <precast/quant/largest_magnitude.hpp>
#include <precast/tensor/rounded_up.hpp>
#include <precast/watch/trace.hpp>

namespace precast::conversion {

namespace {

/// Values of a task: whole blocks of every format, and as f32 they fit a core's own cache.
constexpr std::int64_t task_values = 65536;
/// Values that are encoded before they are written, and written between two looks at the progress.
constexpr std::int64_t values_at_once = 64 * task_values;
/// Bytes of the input after which the memory behind it is given back.
constexpr std::int64_t release_every = std::int64_t{64} << 20;

io::FileError value_error(const InputWeights& input, const InputTensor& tensor, std::int64_t index,
                          double value, const std::string& problem) {
  return io::tensor_error(input.path(), tensor.name,
                          "value " + std::to_string(index) + ", at " + watch::place(tensor.shape, index) +
                              ", is " + watch::digits(value) + problem);
}

void refuse_not_finite(const InputWeights& input, const InputTensor& tensor, std::int64_t first,
                       std::span<const f32> values) {
  const auto is_finite = [](f32 value) { return std::fabs(value) <= std::numeric_limits<f32>::max(); };
  if (is_finite(quant::largest_magnitude(values))) return;
  const auto bad = std::ranges::find_if_not(values, is_finite);
  const std::int64_t index = first + (bad - values.begin());
  auto value = static_cast<double>(*bad);
  if (!tensor.decoded_by && tensor.type == f64_info)
    std::memcpy(&value, tensor.bytes_at(index, 1).data(), sizeof value);
  if (std::isfinite(value))
    throw value_error(input, tensor, index, value,
                      ", beyond what f32 holds, which it is read as: scale it down");
  throw value_error(input, tensor, index, value,
                    ": weights must be finite: get the file again, or find out where it went wrong");
}

void refuse_too_large(const InputWeights& input, const InputTensor& tensor, std::int64_t first,
                      std::span<const f32> values, const DtypeInfo& type) {
  const auto largest = std::ranges::max_element(values, {}, [](f32 value) { return std::fabs(value); });
  throw value_error(input, tensor, first + (largest - values.begin()), static_cast<double>(*largest),
                    ", beyond what " + std::string(type.name) + " holds: choose " +
                        (type.name == "bf16" ? "f32" : "bf16 or f32") + " for this tensor, with --rule");
}

/// Whether errors in a tensor are weighed by its columns' importance, where there is one.
bool is_weighed(const OutputTensor& tensor) {
  return is_block(tensor.chosen.type) && tensor.shape.rank() == 2;
}

/// The names that an importance may have for a piece: those of IN and OUT; BFL's name, where both are
/// diffusers'; and diffusers' names, where both are BFL's: these matrices have the same inputs.
std::vector<std::string> names_of(const OutputTensor& tensor, const Piece& piece) {
  std::vector<std::string> names{piece.from->name, tensor.name};
  if (auto theirs = io::their_rows(flux::bfl_names, weights::without_prefix(tensor.name)))
    names.push_back(std::move(theirs->name));
  names.insert(names.end(), tensor.other_names.begin(), tensor.other_names.end());
  return names;
}

/// How a piece is written: what its encoder is told, the values of a task, and those between two writes.
struct PieceWork {
  quant::EncodeOptions options;
  std::int64_t in_task, at_once;
};

/// Writes tensors to a file, and gives the input's pages back on the way.
class TensorWriter {
 public:
  TensorWriter(const InputWeights& input, OutputFile& file, Container container, const Settings& settings,
               const WrittenCallback& written)
      : input_(input), file_(file), container_(container), settings_(settings), written_(written) {}

  void write(const OutputTensor& tensor) {
    const DtypeInfo& type = tensor.chosen.type;
    if (is_scaled(type, container_)) return write_with_scales(tensor);
    for (const Piece& piece : tensor.pieces) {
      const PieceWork work = work_of(tensor, piece);
      for (std::int64_t done = 0; done < piece.count; done += work.at_once) {
        const std::int64_t first = piece.first + done, count = std::min(work.at_once, piece.count - done);
        if (piece.from->type == type && !piece.from->decoded_by)
          copy(*piece.from, first, count, work);
        else
          encode(*piece.from, type, first, count, work);
        note_read(bytes_of(piece.from->type, count));
        values_ += count;
        if (written_) written_(values_);
      }
    }
  }

 private:
  /// Counts bytes that were read, and gives the file's pages back after each release_every of them. Any
  /// thread may call it: some encoders read a whole tensor before they write anything.
  void note_read(std::int64_t bytes) {
    if (read_.fetch_add(bytes) + bytes < release_every) return;
    read_ = 0;
    input_.release_pages();
  }
  void write_with_scales(const OutputTensor& tensor) {
    const auto read = [&](std::int64_t first, std::span<f32> values) {
      note_read(static_cast<std::int64_t>(values.size_bytes()));
      while (!values.empty()) {
        const Piece piece = tensor.piece_at(first);
        const std::int64_t some = std::min(std::ssize(values), piece.count);
        std::ranges::copy(decoded(*piece.from, piece.first, some), values.begin());
        values = values.subspan(static_cast<std::size_t>(some));
        first += some;
      }
    };
    std::map<const InputTensor*, std::span<const f32>> importance;
    for (const Piece& piece : tensor.pieces) importance[piece.from] = importance_of(tensor, piece);
    const auto options = [&](std::int64_t row) {
      return quant::EncodeOptions{.encoder = settings_.encoder.encoder,
                                  .importance = importance.at(tensor.piece_at(row * tensor.shape[1]).from)};
    };
    write_scaled(tensor, read, options, [&](std::span<const std::byte> bytes, std::int64_t done) {
      file_.write(bytes);
      input_.release_pages();
      values_ += done;
      if (written_) written_(values_);
    });
  }

  /// The importance of a piece's columns, where there is one.
  std::span<const f32> importance_of(const OutputTensor& tensor, const Piece& piece) const {
    if (!settings_.importance || !is_weighed(tensor)) return {};
    return settings_.importance->of(names_of(tensor, piece), tensor.shape.back());
  }

  /// Tasks are whole rows where columns have an importance, and whole runs where scales lie beside the
  /// values.
  PieceWork work_of(const OutputTensor& tensor, const Piece& piece) const {
    quant::EncodeOptions options = settings_.encoder;
    options.importance = importance_of(tensor, piece);
    std::int64_t run = piece.from->decoded_by ? piece.from->decoded_by->run_values() : 1;
    if (!options.importance.empty()) run = std::max(run, tensor.shape.back());
    run = std::max<std::int64_t>(run, 1);
    const std::int64_t in_task = std::max<std::int64_t>(1, task_values / run) * run;
    return {options, in_task, values_at_once / task_values * in_task};
  }

  void copy(const InputTensor& tensor, std::int64_t first, std::int64_t count, const PieceWork& work) {
    if (tensor.is_float && !is_block(tensor.type))
      for_tasks(count, work, [&](std::int64_t at, std::int64_t some) { decoded(tensor, first + at, some); });
    file_.write(tensor.bytes_at(first, count));
  }

  void encode(const InputTensor& tensor, const DtypeInfo& type, std::int64_t first, std::int64_t count,
              const PieceWork& work) {
    // Blocks are encoded from f32, as other encoders do it; a narrower scalar is rounded once. An added
    // scalar may take as many bytes as f32.
    const bool is_narrow = !is_block(type) && type != dtype_info<f32>;
    const F64Rounding rounding = is_narrow ? F64Rounding::odd : F64Rounding::nearest;
    encoded_.resize(static_cast<std::size_t>(bytes_of(type, count)));
    for_tasks(count, work, [&](std::int64_t at, std::int64_t some) {
      const std::span<const f32> values = decoded(tensor, first + at, some, rounding);
      const std::span<std::byte> bytes = std::span(encoded_).subspan(
          static_cast<std::size_t>(bytes_of(type, at)), static_cast<std::size_t>(bytes_of(type, some)));
      if (!formats::encode_in_range(*formats::format_named(type.name), values, bytes, work.options))
        refuse_too_large(input_, tensor, first + at, values, type);
    });
    file_.write(encoded_);
  }

  /// Values of a task, finite, in memory of this thread's.
  std::span<const f32> decoded(const InputTensor& tensor, std::int64_t first, std::int64_t count,
                               F64Rounding rounding = F64Rounding::nearest) const {
    static thread_local std::vector<f32> memory(task_values);
    const std::int64_t run = tensor.decoded_by ? tensor.decoded_by->run_values() : 1, before = first % run;
    const auto read = static_cast<std::size_t>(rounded_up(before + count, run));
    if (read > memory.size()) memory.resize(read);
    const std::span<f32> rows = std::span(memory).first(read);
    if (tensor.decoded_by)
      tensor.decoded_by->decoding->decode(first - before, rows);
    else
      decode(tensor.type, tensor.bytes_at(first, count), rows, rounding);
    const auto values = rows.subspan(static_cast<std::size_t>(before), static_cast<std::size_t>(count));
    refuse_not_finite(input_, tensor, first, values);
    return values;
  }

  template <class Task>
  static void for_tasks(std::int64_t count, const PieceWork& work, Task&& task) {
    host::parallel_for(ceil_divide(count, work.in_task), [&](std::int64_t index) {
      const std::int64_t at = index * work.in_task;
      task(at, std::min(work.in_task, count - at));
    });
  }

  const InputWeights& input_;
  OutputFile& file_;
  Container container_;
  const Settings& settings_;
  const WrittenCallback& written_;
  std::vector<std::byte> encoded_;
  std::atomic<std::int64_t> read_ = 0;
  std::int64_t values_ = 0;
};

/// The tensors of the input that a tensor is put together from. Where that is one, the tensors that diffusers
/// divides it into: a plan may have a type for each.
std::vector<PartNames> parts_of(const OutputTensor& tensor, WeightsKind kind, const std::string& component) {
  std::vector<const InputTensor*> sources;
  for (const Piece& piece : tensor.pieces)
    if (std::ranges::find(sources, piece.from) == sources.end()) sources.push_back(piece.from);
  std::vector<PartNames> parts;
  for (const InputTensor* const source : sources) {
    std::vector<std::string> names =
        sources.size() > 1 ? diffusers_names(kind, source->name) : tensor.other_names;
    if (names.empty()) names.emplace_back();
    for (const std::string& name : names) parts.push_back({tensor.name, source->name, component, name});
  }
  return parts;
}

void add(std::map<std::string, TypeShare>& types, const std::string& type, std::int64_t values,
         std::int64_t bytes) {
  TypeShare& share = types[type];
  ++share.tensors;
  share.values += values;
  share.bytes += bytes;
}

}  // namespace

Conversion::Conversion(const InputWeights& input, const std::filesystem::path& target, Container container,
                       const Settings& settings, const std::string& component, bool is_small_component)
    : input_(input),
      target_(target),
      container_(container),
      kind_(kind_of(input)),
      tensors_(arranged(input, kind_, settings.layout ? settings.layout : usual_layout(container))) {
  // A file of a VAE alone may have the same prefix.
  const bool holds_more = std::ranges::any_of(
      input.tensors(), [](const InputTensor& tensor) { return !is_of_small_component(tensor.name); });
  const std::int64_t layers = kind_ == WeightsKind::ldm_unet ? unet_layers(input) : 0;
  for (OutputTensor& tensor : tensors_) {
    tensor.other_names = diffusers_names(kind_, tensor.name, layers);
    // A tensor that is put together from several types stays as precise as the best of them.
    const InputTensor& first = *std::ranges::max_element(tensor.pieces, {}, [](const Piece& piece) {
                                  return formats::bits_per_value(piece.from->type);
                                })->from;
    if (container == Container::gguf && tensor.shape.rank() == 0) tensor.shape = Shape{1};
    // Two types that are as precise, such as f16 and bf16, do not hold all values of each other.
    const bool holds_all = std::ranges::none_of(tensor.pieces, [&](const Piece& piece) {
      return piece.from->type != first.type &&
             formats::bits_per_value(piece.from->type) == formats::bits_per_value(first.type);
    });
    const DtypeInfo from = holds_all ? first.type : dtype_info<f32>;
    const bool is_small = is_small_component || (holds_more && is_of_small_component(first.name));
    TensorFacts facts{
        parts_of(tensor, kind_, component), tensor.shape, from, first.is_float, kind_, is_small};
    if (tensor.shape.rank() == 1)
      for (const Piece& piece : tensor.pieces)
        facts.values_in_run = std::gcd(facts.values_in_run, piece.count);
    tensor.chosen = chosen_type(settings.type_options, facts, container);
  }
}

void Conversion::check_types() const {
  for (const OutputTensor& tensor : tensors_) {
    if (!holds(container_, tensor.chosen.type)) {
      const bool gguf = container_ == Container::gguf;
      throw io::tensor_error(
          input_.path(), tensor.name,
          "is to be " + std::string(tensor.chosen.type.name) + ", which " + (gguf ? "GGUF" : "safetensors") +
              " does not have: " +
              (tensor.pieces.front().from->is_float
                   ? "choose another type, or the other kind of file"
                   : "what is not of floating point keeps its type: write the other kind of file"));
    }
  }
}

std::int64_t Conversion::values() const {
  std::int64_t values = 0;
  for (const OutputTensor& tensor : tensors_) values += tensor.shape.elements();
  return values;
}

std::int64_t Conversion::bytes() const { return bytes_of(tensors_, container_); }

std::map<std::string, TypeShare> Conversion::input_types() const {
  std::map<std::string, TypeShare> types;
  for (const InputTensor& tensor : input_.tensors())
    add(types, tensor.stored_type(), tensor.shape.elements(), tensor.stored_bytes());
  return types;
}

std::map<std::string, TypeShare> Conversion::output_types() const {
  std::map<std::string, TypeShare> types;
  for (const OutputTensor& tensor : tensors_)
    add(types, std::string(tensor.chosen.type.name), tensor.shape.elements(), bytes_in(tensor, container_));
  return types;
}

bool Conversion::encodes_blocks() const {
  return std::ranges::any_of(tensors_, [](const OutputTensor& tensor) {
    return is_block(tensor.chosen.type) && std::ranges::any_of(tensor.pieces, [&](const Piece& piece) {
             return piece.from->decoded_by || piece.from->type != tensor.chosen.type;
           });
  });
}

std::int64_t Conversion::encoded_matrices() const { return std::ranges::count_if(tensors_, is_weighed); }

std::vector<std::string> Conversion::without_importance(const Importance& importance) const {
  std::vector<std::string> names;
  for (const OutputTensor& tensor : tensors_)
    if (is_weighed(tensor) && std::ranges::any_of(tensor.pieces, [&](const Piece& piece) {
          return importance.of(names_of(tensor, piece), tensor.shape.back()).empty();
        }))
      names.push_back(tensor.name);
  return names;
}

void Conversion::write(const std::filesystem::path& target, const Settings& settings,
                       const WrittenCallback& written) const {
  OutputFile file(target, container_, input_, kind_, tensors_);
  TensorWriter writer(input_, file, container_, settings, written);
  for (const OutputTensor& tensor : tensors_) writer.write(tensor);
  file.commit();
}

}  // namespace precast::conversion

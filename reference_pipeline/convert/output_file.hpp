// OutputFile: a .safetensors or .gguf file that is written as a stream, by one interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <variant>
#include <vector>

#include <convert/output_tensor.hpp>

#include <precast/io/safetensors_writer.hpp>
#include <precast/io/write_gguf.hpp>

namespace precast::conversion {

/// The bytes that tensors take in a file of that kind, without its header.
std::int64_t bytes_of(const std::vector<OutputTensor>& tensors, Container container);

/// Throws where the disk of the folder that `target` is to lie in has no room for so many bytes. Where the
/// system does not say how much room there is, writing finds out.
void check_room(const std::filesystem::path& target, std::int64_t bytes);

/// The file appears with all its tensors, or not at all.
class OutputFile {
 public:
  /// Writes down which tensors will come, with what the input says beside its own. Throws InputError that
  /// names the file where it cannot be written, or does not fit on its disk.
  OutputFile(const std::filesystem::path& target, Container container, const InputWeights& input,
             WeightsKind kind, const std::vector<OutputTensor>& tensors);

  /// The next bytes of the tensors, in their order.
  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  std::variant<io::SafetensorsWriter, io::GgufWriter> writer_;
};

/// The name of an architecture as GGUF files have it; "" where they have none.
std::string_view gguf_architecture(WeightsKind kind);

}  // namespace precast::conversion

// Describes a model folder, a component's folder or a file of weights without loading it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <cli/inspect/inspect_file.hpp>
#include <cli/terminal/output.hpp>
#include <families/family.hpp>

#include <precast/tensor/shape.hpp>

namespace precast::cli {

struct InspectedTensor {
  std::string name, dtype;
  Shape shape;
  std::int64_t bytes = 0;
};

/// The tensors of one dtype in a component.
struct DtypeShare {
  std::int64_t tensors = 0, parameters = 0, bytes = 0;
};

/// A component's folder, or a file. Without weights, `tensors` is empty, and `parameters` is computed from
/// the config if possible, else 0.
struct InspectedComponent {
  std::string name;        ///< "transformer"
  std::string class_name;  ///< "FluxTransformer2DModel"; "" where no config says it
  nlohmann::json config;   ///< null where there is none
  std::vector<std::string> files;
  std::vector<InspectedTensor> tensors;
  std::map<std::string, DtypeShare> dtypes;
  std::int64_t parameters = 0, bytes = 0;
  bool has_weights = false;
  bool is_checkpoint = false;                ///< without readable weights, but with a PyTorch checkpoint
  const families::Family* family = nullptr;  ///< the family that counts its parameters, if any
  std::optional<families::ParameterAccounting> accounting;
};

/// The memory under a preset; only that of the transformer's weights if the model is incomplete.
struct PresetMemory {
  std::string preset;
  families::MemoryEstimate estimate;
};

struct Inspection {
  std::filesystem::path path;
  std::string kind;  ///< "model", "component" or "file"
  std::vector<InspectedComponent> components;
  std::vector<PresetMemory> memory;
  std::string memory_note;           ///< what the memory figures include
  std::string problem;               ///< why it cannot be loaded; "" if it can
  std::vector<std::string> missing;  ///< components in model_index.json without a folder
  std::optional<FileFacts> file{};   ///< set for a file of weights
};

/// Reads configs and file headers. Throws InputError that names the file.
Inspection inspect(const std::filesystem::path& path);

}  // namespace precast::cli

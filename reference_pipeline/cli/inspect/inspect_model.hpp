// What is in a model folder, a component's folder or a file of weights, before anything is loaded.
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

/// Tensors of one dtype in a component.
struct DtypeShare {
  std::int64_t tensors = 0, parameters = 0, bytes = 0;
};

/// A component's folder, or a file. Without weights, `tensors` is empty and `parameters` is what the config
/// says where that can be computed, else 0.
struct InspectedComponent {
  std::string name;        ///< "transformer"
  std::string class_name;  ///< "FluxTransformer2DModel"; "" where no config says it
  nlohmann::json config;   ///< null where there is none
  std::vector<std::string> files;
  std::vector<InspectedTensor> tensors;
  std::map<std::string, DtypeShare> dtypes;
  std::int64_t parameters = 0, bytes = 0;
  bool has_weights = false;
  bool is_checkpoint = false;                ///< has no weights that are read, and a PyTorch checkpoint
  const families::Family* family = nullptr;  ///< which counts its parameters, if one does
  std::optional<families::ParameterAccounting> accounting;
};

/// The memory that a preset takes; only the transformer's weights where the model is not complete.
struct PresetMemory {
  std::string preset;
  families::MemoryEstimate estimate;
};

struct Inspection {
  std::filesystem::path path;
  std::string kind;  ///< "model", "component" or "file"
  std::vector<InspectedComponent> components;
  std::vector<PresetMemory> memory;
  std::string memory_note;           ///< what the memory counts
  std::string problem;               ///< why it cannot be loaded, where that is so
  std::vector<std::string> missing;  ///< components that model_index.json names and that have no folder
  std::optional<FileFacts> file{};   ///< of a file of weights
};

/// Reads configs and file headers. Throws InputError that names the file.
Inspection inspect(const std::filesystem::path& path);

}  // namespace precast::cli

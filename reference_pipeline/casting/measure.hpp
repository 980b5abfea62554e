// Casting cost and casting loss: what one layer in another format does to the model and to itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <casting/cost_file.hpp>
#include <casting/estimate.hpp>
#include <families/blocks.hpp>

namespace precast::casting {

/// Which parameters are cast together.
enum class Granularity : bool {
  layer,  ///< all matrices of a block
  matrix  ///< one of them
};

struct CostSettings {
  std::vector<std::string> types;  ///< names of formats
  /// The weights of the column `patched_type`: matrices, and biases in the dtype that they have there.
  const nn::ParameterSource* patch = nullptr;
  std::string patched_type;
  bool biases = false;  ///< biases are cast too
  Granularity granularity = Granularity::layer;
  std::vector<std::int64_t> layers;  ///< blocks to measure, in rising order
  std::vector<std::int64_t> whole;   ///< blocks that `layers` is a part of; the others are only named
  ColumnImportance importance;       ///< where set, gives estimates, also to what `so_far` has measured
  bool only_estimates = false;       ///< no block is run
};

/// The name of the patch's column, such as "q8_0*": the format of most values of the blocks' matrices in
/// `patch`. Scalar dtypes count only if no matrix has a block format: matrices that block formats leave as
/// they are (a UNet's convolutions) may be the larger part. Throws InputError that names a missing matrix.
std::string patched_type(const families::Blocks& blocks, const nn::ParameterSource& patch);

/// Called with a measurement's progress: in blocks that were run, or in layers where only estimates are
/// made. May throw to stop.
using CostProgress = std::function<void(std::int64_t done, std::int64_t total)>;
/// Called with all numbers so far whenever a layer of the cost file is done: a block, or a matrix of one.
/// May throw to stop.
using LayerDone = std::function<void(const CostFile&)>;

/// Measures every layer and format that `so_far` does not have yet, and returns all of them. Only matrices
/// are cast, and biases if the settings say so; norm scales and tensors outside of blocks never are. Each
/// format of a layer gets:
///   cost: mean squared error of all tokens after the last block, against the same run of the uncast model;
///   loss: the same of the layer's own output, from the same input;
///   relative_cost, relative_loss: these over the mean square of the uncast state.
/// All are means over the samples, in float64; bits are those that the cast parameters take. Each run
/// starts at the layer under test. The numbers are the same for any number of threads, and however often
/// the measurement was interrupted. Throws what running and loading do, and ShapeError for samples of
/// another model.
///
/// Each of `jobs`, one or several loads of the same model, has layers of its own; several share the threads
/// of parallel_for, one each, and a callback is called by one of them at a time. The numbers are the same
/// for any number of jobs.
CostFile measure_cost(std::span<families::Blocks* const> jobs,
                      std::span<const families::RecordedState> samples, const CostSettings& settings,
                      CostFile so_far, const CostProgress& progress, const LayerDone& layer_done);

/// The same with one job, which has all threads.
CostFile measure_cost(families::Blocks& blocks, std::span<const families::RecordedState> samples,
                      const CostSettings& settings, CostFile so_far, const CostProgress& progress,
                      const LayerDone& layer_done);

}  // namespace precast::casting

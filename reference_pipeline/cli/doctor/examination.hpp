// Examines a model: runs it under policies with each op watched, and cures a policy that overflows by
// changing its components one after another.
#pragma once

#include <cstdint>
#include <limits>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <cli/running/layer_peaks.hpp>
#include <families/backend.hpp>
#include <families/model_files.hpp>
#include <families/pipeline.hpp>
#include <image/image.hpp>

#include <precast/dtype/float_format.hpp>
#include <precast/policy/choice.hpp>
#include <precast/watch/magnitudes.hpp>
#include <precast/watch/observer.hpp>

namespace precast::cli {

/// The format of a precision.
FloatFormat format_of(Precision precision);

/// The extremes of one component's ops in a run.
struct ComponentExtremes {
  std::string component;      ///< "vae"
  double largest = 0;         ///< the largest finite |x| of an op's result
  std::string path;           ///< of the op with that result
  double largest_inside = 0;  ///< the largest |score| of an attention; 0 if none was
                              ///< watched
  std::string inside_path;    ///< of that attention
  double headroom = std::numeric_limits<double>::infinity();  ///< the factor by which all results, and
                                                              ///< values inside ops, could grow before one
                                                              ///< overflows the format it is stored in;
                                                              ///< infinity if all were zero
  double inside_headroom = headroom;                          ///< of values inside ops alone
  std::int64_t non_finite = 0;
  watch::Magnitudes magnitudes;  ///< empty on a device
};

/// The results of one policy's run.
struct Examination {
  families::ComponentChoices choices;
  families::ComponentChoices in_effect;       ///< as run: a model may require a wider VAE
  std::vector<LayerPeak> layers;              ///< every op, in the order of their first runs
  std::vector<ComponentExtremes> components;  ///< in the order in which they ran
  std::optional<watch::NonFinite> first_non_finite;
  bool finite = false;  ///< whether all op results, latents and pixels are
  bool black = false;   ///< whether every pixel is
  image::Image picture;
  std::string too_large;          ///< why it did not run: the message of OutOfMemory
  double seconds = 0;             ///< of a second, unwatched run, if the first was finite
  double step_seconds = 0;        ///< per denoising step of that run
  std::int64_t peak_bytes = 0;    ///< of tensors during that run
  std::int64_t needed_bytes = 0;  ///< memory that must be free, as estimated

  /// The smallest headroom of the components.
  double headroom() const;
};

/// The changes made to cure a policy.
struct Treatment {
  families::ComponentChoices choices;  ///< after the last change
  std::vector<std::string> changes;    ///< "--vae-precision bf16", in the order made
  bool cured = false;
};

/// Runs one model for one request under several policies. Not thread-safe.
class Examiner {
 public:
  /// The arguments must outlive the examiner.
  Examiner(const families::ModelFiles& model, const families::Request& request,
           const families::Backend& backend)
      : model_(model), request_(request), backend_(backend) {}

  /// Runs a policy, and if all is finite once more, unwatched, for time and memory. Results are
  /// cached by policy. Throws what pipelines throw, UsageError if the request has no step, and
  /// Interrupted.
  const Examination& examine(const families::ComponentChoices& choices);

  /// Repeatedly applies the cure of the first op that overflows and runs again, until all is finite or no
  /// cure is left. Casts are added for all components; a wider precision is set for the op's component (for
  /// both text encoders, if it is one of them).
  Treatment treat(const families::ComponentChoices& choices);

 private:
  const families::ModelFiles& model_;
  const families::Request& request_;
  const families::Backend& backend_;
  std::list<Examination> examinations_;  ///< a list, so that references stay valid
};

}  // namespace precast::cli

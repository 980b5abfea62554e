// A model examined: runs of it under policies, each watched op by op, and what becomes of a policy that
// overflows when its components are cured one after another.
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

/// The format of a precision's numbers.
FloatFormat format_of(Precision precision);

/// What a component's ops gave in one run.
struct ComponentExtremes {
  std::string component;      ///< "vae"
  double largest = 0;         ///< the largest finite |x| of a result
  std::string path;           ///< of the op that gave it
  double largest_inside = 0;  ///< the largest |score| of an attention; 0 where
                              ///< none was looked at
  std::string inside_path;    ///< of that attention
  double headroom = std::numeric_limits<double>::infinity();  ///< how much larger all results, and what ops
                                                              ///< keep inside, could be before one leaves the
                                                              ///< format that it is stored in; infinite where
                                                              ///< nothing but zeros came out
  double inside_headroom = headroom;                          ///< of what ops keep inside alone
  std::int64_t non_finite = 0;
  watch::Magnitudes magnitudes;  ///< empty where models run on a device
};

/// One policy's run.
struct Examination {
  families::ComponentChoices choices;
  families::ComponentChoices in_effect;       ///< as the pipeline runs them: a model may ask for a wider VAE
  std::vector<LayerPeak> layers;              ///< every op, in the order of their first runs
  std::vector<ComponentExtremes> components;  ///< in the order in which they ran
  std::optional<watch::NonFinite> first_non_finite;
  bool finite = false;  ///< every op's results, the latents and the pixels
  bool black = false;   ///< every pixel
  image::Image picture;
  std::string too_large;          ///< why it did not run: the line of OutOfMemory
  double seconds = 0;             ///< of a second run, which was not watched; where the first was finite
  double step_seconds = 0;        ///< of a denoising step of that run
  std::int64_t peak_bytes = 0;    ///< of tensors in that run
  std::int64_t needed_bytes = 0;  ///< what has to be free, by the estimate

  /// The least of its components' headroom.
  double headroom() const;
};

/// What cured a policy, or did not.
struct Treatment {
  families::ComponentChoices choices;  ///< after the last change
  std::vector<std::string> changes;    ///< "--vae-precision bf16", in the order in which they were made
  bool cured = false;
};

/// Runs one model for one request, under one policy after another. To be used from one thread.
class Examiner {
 public:
  /// All must outlive it.
  Examiner(const families::ModelFiles& model, const families::Request& request,
           const families::Backend& backend)
      : model_(model), request_(request), backend_(backend) {}

  /// The run under a policy: a second time, unwatched, where the first was finite. A policy is run once,
  /// however often it is asked for. Throws what pipelines throw, UsageError where no step is taken, and
  /// Interrupted.
  const Examination& examine(const families::ComponentChoices& choices);

  /// Changes what the first op that overflows needs, and runs again, until all is finite or nothing is left
  /// to change: casts for all components, a wider precision for the op's own (for both text encoders, where
  /// it is one of them).
  Treatment treat(const families::ComponentChoices& choices);

 private:
  const families::ModelFiles& model_;
  const families::Request& request_;
  const families::Backend& backend_;
  std::list<Examination> examinations_;  ///< references to them stay
};

}  // namespace precast::cli

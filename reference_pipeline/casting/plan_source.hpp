// PlanSource: weights as a plan has them, each planned matrix encoded to its format as it is loaded.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include <casting/plan_file.hpp>

#include <precast/nn/parameter_source.hpp>

namespace precast::casting {

/// The parameters of another source; matrices of a plan's layers are encoded to the layer's format, as they
/// lie in a file that was converted by the plan: modules keep them so where they keep such a file's. Formats
/// whose blocks do not divide a matrix's rows give way as CastSource has it.
class PlanSource final : public nn::ForwardingSource {
 public:
  /// Both must outlive this.
  PlanSource(const nn::ParameterSource& original, const Plan& plan)
      : ForwardingSource(original), plan_(plan) {}

  nn::Parameter find(std::string_view name) const override;
  /// Passes on what is not of a cast: the bytes that it was made from were taken as it was.
  void taken(std::size_t bytes) const override;

  /// Throws InputError, which names `plan_path` and the first of them, where layers of the plan had no matrix
  /// that was asked for.
  void check_all_found(const std::string& plan_path) const;

 private:
  const Plan& plan_;
  mutable std::size_t cast_bytes_ = 0;  ///< of casts, that modules have not taken yet
  mutable std::set<std::string, std::less<>> found_;
};

}  // namespace precast::casting

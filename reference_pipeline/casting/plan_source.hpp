// PlanSource: weights as a plan has them, each planned matrix cast to its format and back as it is loaded.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include <casting/cast_source.hpp>
#include <casting/plan_file.hpp>

#include <precast/nn/parameter_source.hpp>

namespace precast::casting {

/// The parameters of another source; matrices of a plan's layers are what encoding to the layer's format and
/// decoding makes of them, in f32. Formats whose blocks do not divide a matrix's rows give way as CastSource
/// has it. What was cast of one layer is kept until a parameter of another one is asked for.
class PlanSource final : public nn::ForwardingSource {
 public:
  /// Both must outlive this.
  PlanSource(const nn::ParameterSource& original, const Plan& plan)
      : ForwardingSource(original), plan_(plan) {}

  nn::Parameter find(std::string_view name) const override;

  /// Throws InputError, which names `plan_path` and the first of them, where layers of the plan had no matrix
  /// that was asked for.
  void check_all_found(const std::string& plan_path) const;

 private:
  const Plan& plan_;
  mutable std::unique_ptr<CastSource> cast_;
  mutable std::string layer_;  ///< that cast_ is of
  mutable std::set<std::string, std::less<>> found_;
};

}  // namespace precast::casting

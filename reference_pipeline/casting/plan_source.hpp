// PlanSource: weights of which each planned matrix is encoded to its format as it is loaded.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include <casting/plan_file.hpp>

#include <precast/nn/parameter_source.hpp>

namespace precast::casting {

/// The parameters of another source; matrices of a plan's layers are encoded to the layer's format, as in a
/// file that was converted by the plan, and modules keep them encoded where they keep that file's. A format
/// whose blocks do not divide a matrix's rows falls back to another as in CastSource.
class PlanSource final : public nn::ForwardingSource {
 public:
  /// Both must outlive this.
  PlanSource(const nn::ParameterSource& original, const Plan& plan)
      : ForwardingSource(original), plan_(plan) {}

  nn::Parameter find(std::string_view name) const override;
  /// Passes on only the bytes that are not of casts: a cast reported its source's bytes when it was made.
  void taken(std::size_t bytes) const override;

  /// Throws InputError, which names `plan_path` and the first such layer, where find() has not returned any
  /// matrix of a planned layer.
  void check_all_found(const std::string& plan_path) const;

 private:
  const Plan& plan_;
  mutable std::size_t cast_bytes_ = 0;  ///< bytes of casts that modules have not taken yet
  mutable std::set<std::string, std::less<>> found_;
};

}  // namespace precast::casting

// CastSource: weights of which some are cast to a format and back, as a layer under test has them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <families/blocks.hpp>

#include <precast/nn/parameter_source.hpp>

namespace precast::casting {

/// The values of a parameter, whatever it is stored as.
std::vector<f32> values_of(const nn::ParameterSource& source, const families::BlockParameter& parameter);

/// A parameter that was found in `source`, as ops read it from a file that has it in `type`: encoded as
/// CastSource::cast has it, and, of a format that a program added, decoded. Nothing where it stays as it is.
/// Tells `source` what was taken. Throws what CastSource::cast does, and InputError for values beyond what
/// the type holds. In a dry run its bytes are counted.
std::optional<nn::Parameter> cast_as_stored(const nn::ParameterSource& source, const nn::Parameter& found,
                                            std::string_view type);

/// The parameters of another source, but for those that were cast.
class CastSource final : public nn::ForwardingSource {
 public:
  /// `original` must outlive this.
  explicit CastSource(const nn::ParameterSource& original) : ForwardingSource(original) {}

  /// Replaces the values of a parameter by what they are after encoding to `type`, or to what
  /// formats::fitting_type has for its rows, and decoding. Returns the type that was taken: the parameter's
  /// own where none fits. What has that type already, and what none fits, stays as it is. Throws InputError
  /// for a type that is no stored format, and one that names the tensor for values that are not finite where
  /// the type holds no such values.
  DtypeInfo cast(const families::BlockParameter& parameter, std::string_view type);
  /// Replaces the values of a parameter by those of another source. Returns the dtype that they have there.
  DtypeInfo patch(const families::BlockParameter& parameter, const nn::ParameterSource& other);

  nn::Parameter find(std::string_view name) const override;
  void taken(std::size_t) const override {}

 private:
  std::map<std::string, std::pair<Shape, std::vector<f32>>, std::less<>> cast_;
};

}  // namespace precast::casting

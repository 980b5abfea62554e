// CastSource: weights, some of them cast to a format and back for a layer under test.
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

/// A parameter found in `source`, as ops would read it from a file that stores it in `type`: encoded as
/// CastSource::cast does, and decoded again if a program added the format. Nothing where it stays as it is.
/// Reports the taken bytes to `source`. Throws what CastSource::cast does, and InputError for values out of
/// the type's range. A dry run counts its bytes.
std::optional<nn::Parameter> cast_as_stored(const nn::ParameterSource& source, const nn::Parameter& found,
                                            std::string_view type);

/// The parameters of another source, some with cast or patched values.
class CastSource final : public nn::ForwardingSource {
 public:
  /// `original` must outlive this.
  explicit CastSource(const nn::ParameterSource& original) : ForwardingSource(original) {}

  /// Replaces the values of a parameter by the result of encoding them to `type`, or to the type that
  /// formats::fitting_type gives for its rows, and decoding. Returns the type that was taken: the
  /// parameter's own where none fits. A parameter that has the type already, or that none fits, stays as it
  /// is. Throws InputError for a type that is no stored format, and one that names the tensor for values
  /// that are not finite where the type holds no such values.
  DtypeInfo cast(const families::BlockParameter& parameter, std::string_view type);
  /// Replaces the values of a parameter by those of another source. Returns the dtype that they have there.
  DtypeInfo patch(const families::BlockParameter& parameter, const nn::ParameterSource& other);

  nn::Parameter find(std::string_view name) const override;
  void taken(std::size_t) const override {}

 private:
  std::map<std::string, std::pair<Shape, std::vector<f32>>, std::less<>> cast_;
};

}  // namespace precast::casting

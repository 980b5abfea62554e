// ParameterSource: where modules get their weights from. Files implement it; modules know nothing of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <precast/dtype/dtype.hpp>
#include <precast/tensor/shape.hpp>

namespace precast::nn {

/// A parameter of a model as its file has it: bytes of a known dtype, row-major; each row of a matrix in a
/// block dtype starts a new block. Modules convert it to the forms that kernels read.
struct Parameter {
  DtypeInfo dtype;
  Shape shape;
  std::span<const std::byte> bytes;
  std::string name{};                   ///< its place in the source, where ParameterPath::find found it
  std::shared_ptr<const void> owner{};  ///< what keeps `bytes`, where they are not the source's own
  /// The rows and columns of a matrix may be padded up to multiples of this.
  std::int64_t padded_to = 1;
};

/// Finds parameters by name. Implementations check that `bytes` is exactly what dtype and shape need.
class ParameterSource {
 public:
  virtual ~ParameterSource() = default;
  /// Whether a parameter of that name is there.
  virtual bool contains(std::string_view name) const = 0;
  /// The parameter of that name. Throws InputError that names the file where it is missing.
  virtual Parameter find(std::string_view name) const = 0;
  /// Whether it has no shapes of its own and accepts those of a config: in dry runs without weights.
  virtual bool takes_any_shape() const { return false; }
  /// The file or folder, for messages.
  virtual std::string description() const = 0;
  /// Called when a module has taken `bytes` of a parameter, for progress. May throw to cancel.
  virtual void taken(std::size_t bytes) const = 0;
};

/// Forwards to another source: the base class of sources that change some of its parameters.
class ForwardingSource : public ParameterSource {
 public:
  bool contains(std::string_view name) const override { return original_.contains(name); }
  Parameter find(std::string_view name) const override { return original_.find(name); }
  bool takes_any_shape() const override { return original_.takes_any_shape(); }
  std::string description() const override { return original_.description(); }
  void taken(std::size_t bytes) const override { original_.taken(bytes); }

  const ParameterSource& original() const { return original_; }

 protected:
  /// `original` must outlive this.
  explicit ForwardingSource(const ParameterSource& original) : original_(original) {}

 private:
  const ParameterSource& original_;
};

/// The parameters of a model whose weights are absent, for dry runs: any parameter that is requested,
/// without bytes.
class AbsentParameters final : public ParameterSource {
 public:
  bool contains(std::string_view) const override { return true; }
  Parameter find(std::string_view) const override { return {{"f32", 1, 4}, Shape{0}, {}}; }
  bool takes_any_shape() const override { return true; }
  std::string description() const override { return "absent weights"; }
  void taken(std::size_t) const override {}
};

}  // namespace precast::nn

// Shape: the sizes of a tensor's dimensions, outermost first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>

#include <precast/error.hpp>

namespace precast {

/// The sizes of at most six dimensions, row-major: the last one is contiguous in memory.
class Shape {
 public:
  static constexpr std::size_t max_rank = 6;
  /// Keeps sizes in bytes within an int64_t, in any dtype and with headroom for additions.
  static constexpr std::int64_t max_elements = std::int64_t{1} << 57;

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> sizes)
      : Shape(std::span(sizes.begin(), sizes.size())) {}
  /// Throws ShapeError for more than six dimensions, a negative size, or more than 2^57 elements.
  constexpr explicit Shape(std::span<const std::int64_t> sizes) : rank_(sizes.size()) {
    if (sizes.size() > max_rank) throw ShapeError("a tensor has at most 6 dimensions");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] < 0) refuse("a tensor's size cannot be negative", sizes);
      if (sizes[i] != 0 && elements_ > max_elements / sizes[i]) refuse("a tensor's size overflows", sizes);
      sizes_[i] = sizes[i];
      elements_ *= sizes[i];
    }
  }

  constexpr std::size_t rank() const { return rank_; }
  constexpr std::int64_t operator[](std::size_t i) const { return sizes_[i]; }
  /// The last size; 1 for a shape without dimensions.
  constexpr std::int64_t back() const { return rank_ ? sizes_[rank_ - 1] : 1; }
  /// The product of the sizes; 1 for a shape without dimensions.
  constexpr std::int64_t elements() const { return elements_; }
  constexpr std::span<const std::int64_t> sizes() const { return {sizes_.data(), rank_}; }

  /// The same shape with another last size.
  constexpr Shape with_back(std::int64_t size) const {
    std::array<std::int64_t, max_rank> sizes = sizes_;
    sizes[rank_ ? rank_ - 1 : 0] = size;
    return Shape(std::span<const std::int64_t>(sizes.data(), rank_ ? rank_ : 1));
  }

  friend constexpr bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (std::size_t i = 0; i < a.rank_; ++i)
      if (a.sizes_[i] != b.sizes_[i]) return false;
    return true;
  }

 private:
  [[noreturn]] static void refuse(const char* why, std::span<const std::int64_t> sizes);

  std::array<std::int64_t, max_rank> sizes_{};
  std::size_t rank_ = 0;
  std::int64_t elements_ = 1;
};

namespace detail {
inline std::string text_of_sizes(std::span<const std::int64_t> sizes) {
  std::string text = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
  return text + "]";
}
}  // namespace detail

inline void Shape::refuse(const char* why, std::span<const std::int64_t> sizes) {
  throw ShapeError(std::string(why) + ": " + detail::text_of_sizes(sizes));
}

/// "[2, 77, 768]".
inline std::string to_string(const Shape& shape) { return detail::text_of_sizes(shape.sizes()); }

}  // namespace precast

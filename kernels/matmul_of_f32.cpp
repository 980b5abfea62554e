// Products of f32, which comes from outside a model.
#include <type_traits>

#include <matmul_kernels.hpp>

namespace precast::kernels {
namespace {

template <class Row, class Types>
struct ProductsOfF32 {
  static constexpr auto functions = [] {
    if constexpr (std::is_same_v<typename Row::result, f32>)
      return std::tuple();  // in matmul.cpp
    else
      return std::tuple(product<Types, f32>);
  }();
};

[[gnu::used, maybe_unused]] constexpr auto stamped_matmul_of_f32 =
    addresses<ProductsOfF32, EveryPolicy, Matmul, Conv>();

}  // namespace
}  // namespace precast::kernels

// Products of results of ops, and of f32, which comes from outside a model.
#include <type_traits>

#include <matmul_kernels.hpp>

namespace precast::kernels {
namespace {

template <class Row, class Types>
struct Products {
  static constexpr auto functions = [] {
    if constexpr (std::is_same_v<typename Row::result, f32>)
      return std::tuple(product<Types, f32>);
    else
      return std::tuple(product<Types, typename Row::result>, product<Types, f32>);
  }();
};

[[gnu::used, maybe_unused]] constexpr auto stamped_matmul = addresses<Products, EveryPolicy, Matmul, Conv>();

}  // namespace
}  // namespace precast::kernels

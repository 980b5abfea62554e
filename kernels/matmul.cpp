// Products of results of ops.
#include <matmul_kernels.hpp>

namespace precast::kernels {
namespace {

template <class Row, class Types>
struct Products {
  static constexpr std::tuple functions{product<Types, typename Row::result>};
};

[[gnu::used, maybe_unused]] constexpr auto stamped_matmul = addresses<Products, EveryPolicy, Matmul, Conv>();

}  // namespace
}  // namespace precast::kernels

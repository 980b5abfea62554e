// Convolutions of results of ops, and of f32, which comes from outside a model.
#include <stamp.hpp>

#include <precast/backend/conv.hpp>

namespace precast::kernels {
namespace {

template <class Types, class X>
constexpr auto convolution =
    Overload<void, View<const X>, const backend::PackedWeight<typename Types::storage>&, const ConvSizes&,
             const Epilogue&, View<typename Types::result>>(&backend::conv<Types, X>);

template <class Row, class Types>
struct Convolutions {
  static constexpr std::tuple functions{convolution<Types, typename Row::result>, convolution<Types, f32>};
};

[[gnu::used, maybe_unused]] constexpr auto stamped_conv = addresses<Convolutions, EveryPolicy, Conv>();

}  // namespace
}  // namespace precast::kernels

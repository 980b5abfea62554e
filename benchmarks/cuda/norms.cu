// Norms as the models call them, with what widens their parameters.
//
// Floor: the time of cudaMemcpyAsync for as many bytes, each value read once and written once. A group norm
// of a picture that no cache holds has to read it twice, so that 2/3 is the most it reaches.
#include <algorithm>
#include <string>

#include <common/policies.hpp>
#include <common/random_tensor.hpp>
#include <cuda/measure.hpp>
#include <cuda/suite.hpp>

#include <precast/ops/norm.hpp>

namespace precast::bench {

namespace {

constexpr double epsilon = 1e-6;

template <PolicyType P>
void add_norms_of(const Suite& suite) {
  using Activation = typename P::activation;
  const std::int64_t rows = suite.sizes.rows, columns = suite.sizes.columns, width = suite.sizes.head_width;
  const std::string size = std::string("/") + name_of<P> + "/" + size_text(rows, columns);
  const double moved = 2.0 * static_cast<double>(rows * columns) * sizeof(Activation);
  add(suite, "norm_modulate" + size, 50, 2 * moved, [=, &suite](benchmark::State& state) {
    const auto x = random_tensor<Activation>({rows, columns}), by = random_tensor<Activation>({2, columns});
    compare_with_copy(state, suite, moved, [&] {
      return layer_norm_modulate<P>(x, by.view().rows_between(0, 1), by.view().rows_between(1, 1),
                                    {.eps = epsilon});
    });
  });
  add(suite, "rms_norm" + size, 50, 2 * moved, [=, &suite](benchmark::State& state) {
    const auto x = random_tensor<Activation>({rows, columns}), weight = random_tensor<Activation>({columns});
    compare_with_copy(state, suite, moved, [&] { return rms_norm<P>(x, weight, {.eps = epsilon}); });
  });
  add(suite, "rms_norm_heads" + size, 50, 2 * moved, [=, &suite](benchmark::State& state) {
    const auto x = random_tensor<Activation>({rows, columns}), weight = random_tensor<Activation>({width});
    compare_with_copy(state, suite, moved, [&] { return rms_norm_heads<P>(x, weight, {.eps = epsilon}); });
  });
  const auto add_group_norm = [&](std::int64_t side, std::int64_t channels) {
    const double picture = 2.0 * static_cast<double>(side * side * channels) * sizeof(Activation);
    add(suite,
        std::string("group_norm/") + name_of<P> + "/" + size_text(side, side) + "x" +
            std::to_string(channels),
        50, 2 * picture, [=, &suite](benchmark::State& state) {
          const auto x = random_tensor<Activation>({1, side, side, channels});
          const auto weight = random_tensor<Activation>({channels}),
                     bias = random_tensor<Activation>({channels});
          compare_with_copy(state, suite, picture, [&] {
            return group_norm<P>(
                x, weight, bias,
                {.groups = suite.sizes.groups, .eps = epsilon, .activation = ActivationFunction::silu});
          });
        });
  };
  add_group_norm(suite.sizes.picture, suite.sizes.channels);  // an autoencoder's last
  add_group_norm(std::max<std::int64_t>(1, suite.sizes.picture / 8),
                 10 * suite.sizes.groups);  // a UNet's first
}

}  // namespace

void add_norms(const Suite& suite) {
  add_norms_of<F32>(suite);
  add_norms_of<Bf16>(suite);
  add_norms_of<F16>(suite);
}

}  // namespace precast::bench

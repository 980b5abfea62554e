// What dtype_flow says of a transformer under a policy is what the kernels of a run say of themselves.
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <support/dtype_names.hpp>

#include <precast/ops/attention.hpp>
#include <precast/ops/embedding.hpp>
#include <precast/ops/linear.hpp>
#include <precast/ops/loss.hpp>
#include <precast/ops/norm.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/policy/dtype_flow.hpp>
#include <precast/watch/observer.hpp>
#include <precast/watch/scope.hpp>
#include <precast/watch/trace.hpp>

using namespace precast;

namespace {

constexpr std::int64_t context = 6, width = 8, vocabulary = 11, heads = 2;
constexpr double eps = 1e-5;

/// Small values, a different one in each place.
template <class T>
Tensor<T> some(const Shape& shape) {
  Tensor<T> values(shape);
  for (std::int64_t i = 0; i < values.elements(); ++i)
    values.data()[i] = convert<T>(0.03f * static_cast<f32>((7 * i) % 13 - 6));
  return values;
}

/// The transformer of dtype_flow_steps with parameters as a policy stores them, each op under its own name.
template <PolicyType P>
struct SmallTransformer {
  using Stored = typename P::storage;

  template <class Run>
  static auto at(std::string_view path, Run&& run) {
    return watch::scoped(path, run);
  }
  static LinearWeight<P> weight(std::int64_t out, std::int64_t in, bool with_bias = false) {
    const Tensor<Stored> values = some<Stored>({out, in}), bias = some<Stored>({out});
    return LinearWeight<P>(values.view(),
                           with_bias ? std::span<const Stored>(bias.values()) : std::span<const Stored>());
  }
  template <class X>
  static auto norm(std::string_view path, const X& x) {
    const Tensor<Stored> scale = some<Stored>({width}), shift = some<Stored>({width});
    return at(path, [&] { return layer_norm<P>(x, scale, shift, {.eps = eps}); });
  }
  template <class X>
  static auto layer(std::string_view path, const X& x, const LinearWeight<P>& with) {
    return at(path, [&] { return linear<P>(x, with); });
  }

  static double run() {
    const std::vector<std::int32_t> ids{1, 4, 0, 10, 3, 3}, places{0, 1, 2, 3, 4, 5};
    const Tensor<Stored> table = some<Stored>({vocabulary, width}),
                         of_places = some<Stored>({context, width});
    const auto tokens = at("tok_emb", [&] { return embedding<P>(table, ids); });
    const auto positions = at("pos_emb", [&] { return embedding<P>(of_places, places); });
    const auto x = at("x", [&] { return add<P>(tokens, positions); });

    const auto normed = norm("blocks.0.ln1", x);
    auto qkv = layer("blocks.0.attn.qkv", normed, weight(3 * width, width));
    const auto parts = qkv.view();
    const auto part = [&](std::int64_t first) {
      Tensor<value_type_of<decltype(qkv)>> of_head(Shape{1, context, width});
      for (std::int64_t row = 0; row < context; ++row)
        for (std::int64_t column = 0; column < width; ++column)
          of_head.data()[row * width + column] = parts.data()[row * 3 * width + first * width + column];
      return of_head;
    };
    const auto attended = at("blocks.0.attn", [&] {
      return attention<P>(part(0), part(1), part(2), {.heads = heads, .causal = true});
    });
    auto projected = layer("blocks.0.attn.proj", attended, weight(width, width));
    const auto rows = std::move(projected).reshaped(Shape{context, width});
    const auto with_attention = at("blocks.0.residual_1", [&] { return add<P>(x, rows); });

    const auto second = norm("blocks.0.ln2", with_attention);
    const auto wide = layer("blocks.0.mlp.fc1", second, weight(4 * width, width, true));
    const auto activated =
        at("blocks.0.mlp.gelu", [&] { return activate<P>(wide, ActivationFunction::gelu_erf); });
    const auto narrow = layer("blocks.0.mlp.fc2", activated, weight(width, 4 * width, true));
    const auto with_mlp = at("blocks.0.residual_2", [&] { return add<P>(with_attention, narrow); });

    const auto last = norm("ln_f", with_mlp);
    const auto logits = layer("head", last, weight(vocabulary, width));
    const std::vector<std::int32_t> targets{4, 0, 10, 3, 3, 7};
    const auto loss = at("loss", [&] { return cross_entropy<P>(logits, targets); });
    return to_double(loss.values()[0]);
  }
};

}  // namespace

TEST_CASE("the flow of dtypes is what a run of the transformer says of its kernels", "[watch]") {
  for_each_flow_policy([]<class P>(FlowPolicy<P> policy) {
    INFO(policy.name);
    watch::Trace trace;
    double loss = 0;
    {
      const watch::Watching watching(trace);
      loss = SmallTransformer<P>::run();
    }
    CHECK(loss == Approx(std::log(static_cast<double>(vocabulary))).margin(0.5));
    REQUIRE(trace.records().size() == dtype_flow_steps.size());
    const auto flow = dtype_flow<P>();
    for (std::size_t i = 0; i < flow.size(); ++i) {
      const watch::OpRecord& ran = trace.records()[i];
      INFO(ran.path << " " << ran.function);
      CHECK(ran.path == dtype_flow_steps[i].path);
      CHECK(ran.function == dtype_flow_steps[i].function);
      CHECK(ran.op == dtype_flow_steps[i].op);
      CHECK(ran.dtypes == flow[i]);
    }
  });
}

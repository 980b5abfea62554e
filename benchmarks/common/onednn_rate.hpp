// What oneDNN makes of the linear layers of a model by itself: weights in the layout it likes best,
// rearranged once, no bias, no activation, all of its own threads. The mark that ours are held against.
#pragma once

#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <common/work.hpp>
#include <dnnl.hpp>

#include <precast/dtype/scalar.hpp>

namespace precast::bench {

/// The layers one after another, each with a weight of its own, as in a model. f16 stands for f32: oneDNN 2.6
/// does not multiply f16.
class OneDnnLayers {
 public:
  template <ScalarDtype T>
  OneDnnLayers(const LinearShapes& layers, std::type_identity<T>)
      : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    constexpr auto type =
        std::is_same_v<T, bf16> ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
    for (const LinearShape& layer : layers) products_.push_back(product(layer, type));
    stream_.wait();
  }

  void operator()() {
    for (const auto& [primitive, arguments] : products_) primitive.execute(stream_, arguments);
    stream_.wait();
  }

 private:
  using Arguments = std::unordered_map<int, dnnl::memory>;
  struct Product {
    dnnl::matmul primitive;
    Arguments arguments;
  };

  Product product(const LinearShape& layer, dnnl::memory::data_type type) {
    using Tag = dnnl::memory::format_tag;
    const dnnl::memory::desc x({layer.rows, layer.in}, type, Tag::ab),
        y({layer.rows, layer.out}, type, Tag::ab), any({layer.in, layer.out}, type, Tag::any);
    const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(x, any, y), engine_);
    dnnl::memory weight(description.weights_desc(), engine_);
    dnnl::memory from_file({{layer.in, layer.out}, type, Tag::ba}, engine_);
    fill(from_file, type);
    dnnl::reorder(from_file, weight).execute(stream_, from_file, weight);
    stream_.wait();
    Arguments arguments{{DNNL_ARG_SRC, dnnl::memory(x, engine_)},
                        {DNNL_ARG_WEIGHTS, weight},
                        {DNNL_ARG_DST, dnnl::memory(y, engine_)}};
    fill(arguments[DNNL_ARG_SRC], type);
    return {dnnl::matmul(description), std::move(arguments)};
  }
  /// Small normal numbers, so that nothing runs into subnormals or infinity.
  static void fill(const dnnl::memory& memory, dnnl::memory::data_type type) {
    const std::size_t bytes = memory.get_desc().get_size();
    if (type == dnnl::memory::data_type::bf16) {
      auto* values = static_cast<bf16*>(memory.get_data_handle());
      for (std::size_t i = 0; i < bytes / sizeof(bf16); ++i)
        values[i] = bf16{static_cast<std::uint16_t>(0x3c00 + i % 97)};
    } else {
      auto* values = static_cast<f32*>(memory.get_data_handle());
      for (std::size_t i = 0; i < bytes / sizeof(f32); ++i) values[i] = 0.001f * static_cast<f32>(i % 97);
    }
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<Product> products_;
};

}  // namespace precast::bench

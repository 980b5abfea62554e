// What oneDNN makes of the linear layers of a model by itself: operands in the layout it likes best, no bias,
// no activation, all of its own threads. The mark that ours are held against.
#pragma once

#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <common/work.hpp>
#include <dnnl.hpp>

#include <precast/dtype/scalar.hpp>
#include <precast/host/onednn/onednn.hpp>

namespace precast::bench {

/// Which of a product's operands lie with their rows one after the other, as row-major matrices do, and when
/// they are rearranged into the layout that oneDNN likes best.
struct Operands {
  dnnl::memory::format_tag x = dnnl::memory::format_tag::ab, weight = dnnl::memory::format_tag::ba;
  bool arranged_each_time = false;  ///< or once, before the clock runs
};

/// The layers one after another, each with a weight of its own, as in a model. f16 stands for f32, since
/// oneDNN 2.6 does not multiply it, and bf16 does where it needs vectors that this CPU lacks.
class OneDnnLayers {
 public:
  template <ScalarDtype T>
  OneDnnLayers(const LinearShapes& layers, std::type_identity<T> dtype) : OneDnnLayers() {
    for (const LinearShape& layer : layers) add(layer, Operands{}, dtype);
  }
  OneDnnLayers() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  template <ScalarDtype T>
  void add(const LinearShape& layer, const Operands& operands, std::type_identity<T>) {
    const auto type = std::is_same_v<T, bf16> && host::multiplies_bf16() ? dnnl::memory::data_type::bf16
                                                                         : dnnl::memory::data_type::f32;
    const auto any = dnnl::memory::format_tag::any;
    const dnnl::memory::dims x_size{layer.rows, layer.in}, weight_size{layer.in, layer.out};
    // What is arranged once is told as it lies where that is row after row, so that oneDNN leaves it alone.
    const dnnl::memory::desc x(x_size, type, operands.arranged_each_time ? any : operands.x),
        weight(weight_size, type, any), y({layer.rows, layer.out}, type, dnnl::memory::format_tag::ab);
    const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(x, weight, y), engine_);
    const dnnl::memory x_there = arranged({x_size, type, operands.x}, description.src_desc(), operands),
                       weight_there = arranged({weight_size, type, operands.weight},
                                               description.weights_desc(), operands);
    work_.push_back({dnnl::matmul(description),
                     {{DNNL_ARG_SRC, x_there},
                      {DNNL_ARG_WEIGHTS, weight_there},
                      {DNNL_ARG_DST, dnnl::memory(description.dst_desc(), engine_)}}});
  }

  void operator()() {
    for (const auto& [primitive, arguments] : work_) primitive.execute(stream_, arguments);
    stream_.wait();
  }

 private:
  struct Work {
    dnnl::primitive primitive;
    std::unordered_map<int, dnnl::memory> arguments;
  };

  /// Values as they are given, in the layout that is wanted: made now, or anew as part of the work.
  dnnl::memory arranged(const dnnl::memory::desc& given, const dnnl::memory::desc& wanted,
                        const Operands& operands) {
    dnnl::memory from(given, engine_);
    fill(from, given.data_type());
    if (given == wanted) return from;
    const dnnl::memory to(wanted, engine_);
    const dnnl::reorder reorder(from, to);
    if (operands.arranged_each_time) {
      work_.push_back({reorder, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}});
    } else {
      reorder.execute(stream_, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
      stream_.wait();
    }
    return to;
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
  std::vector<Work> work_;
};

}  // namespace precast::bench

// RAII wrappers of oneDNN: the one place that calls it and checks its status codes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

// The C interface: dnnl.hpp costs half a second in every translation unit.
#include <dnnl.h>
#include <sys/mman.h>

#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/host/onednn/onednn_code.hpp>
#include <precast/host/runtime/of_thread.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/memory/memory.hpp>

namespace precast::host {

/// The dtypes that oneDNN multiplies for us; all others widen exactly to one of them, or round to it where
/// the policy says so.
template <class T>
concept OneDnnOperand = std::is_same_v<T, f32> || std::is_same_v<T, bf16>;

/// Whether oneDNN may use these instructions on this CPU.
inline bool uses_instructions(dnnl_cpu_isa_t instructions) {
  static const dnnl_cpu_isa_t all = dnnl_get_effective_cpu_isa();
  return (all & instructions) == instructions;
}

/// Whether oneDNN multiplies bf16 itself on this CPU (AVX-512 BF16 or AMX); else bf16 widens to f32.
inline bool multiplies_bf16() { return uses_instructions(dnnl_cpu_isa_avx512_core_bf16); }

/// Whether oneDNN multiplies panels of a weight side by side, in its blocked layout: with AVX-512.
/// Elsewhere it has only a plain loop for that layout, at 1/2000 of the speed, so that each panel is passed
/// to it as a separate matrix.
inline bool multiplies_panels_side_by_side() { return uses_instructions(dnnl_cpu_isa_avx512_core); }

/// Calls `body` with a value of the dtype that products with these dtypes are multiplied in on this CPU: the
/// one place that decides between bf16 and f32.
template <class Types, class Body>
decltype(auto) in_multiplied_dtype(Body&& body) {
  if constexpr (std::is_same_v<typename Types::operand, bf16> &&
                std::is_same_v<typename Types::accumulate, f32>)
    if (multiplies_bf16()) return body(bf16{});
  return body(f32{});
}

namespace onednn {

/// Throws the exception for a oneDNN status. `doing` completes "oneDNN could not ...".
inline void check(dnnl_status_t status, const std::string& doing) {
  if (status == dnnl_success) return;
  if (status == dnnl_out_of_memory) throw OutOfMemory("oneDNN ran out of memory as it tried to " + doing);
  std::string reason = "status " + std::to_string(static_cast<int>(status));
  if (status == dnnl_invalid_arguments) reason = "invalid arguments";
  if (status == dnnl_unimplemented) reason = "this CPU or this version of oneDNN has no code for it";
  if (status == dnnl_runtime_error) reason = "an error at run time";
  throw Error("oneDNN could not " + doing + ": " + reason);
}

/// Throws OutOfMemory where there is no memory for a primitive's code: oneDNN 2.6 does not check, and calls
/// code that was not made. `doing` completes "oneDNN could not ...".
inline void require_memory_for_code(const std::string& doing) {
  // The most that one has been seen to take: 1.6 MB, six functions in buffers of 256 KiB.
  constexpr std::size_t enough = std::size_t{6} << 20;
  void* const probe = ::mmap(nullptr, enough, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED)
    throw OutOfMemory("no memory is left for the code that oneDNN generates to " + doing);
  ::munmap(probe, enough);
}

template <auto Destroy>
struct Destroyer {
  template <class T>
  void operator()(T* handle) const {
    Destroy(handle);
  }
};
template <class Handle, auto Destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroyer<Destroy>>;

using Stream = Owned<dnnl_stream_t, dnnl_stream_destroy>;
using Memory = Owned<dnnl_memory_t, dnnl_memory_destroy>;
using Attributes = Owned<dnnl_primitive_attr_t, dnnl_primitive_attr_destroy>;
using PrimitiveDescription = Owned<dnnl_primitive_desc_t, dnnl_primitive_desc_destroy>;
using PrimitiveHandle = Owned<dnnl_primitive_t, dnnl_primitive_destroy>;

/// Not destroyed: ops may still run when the program ends.
inline dnnl_engine_t engine() {
  static const dnnl_engine_t engine = [] {
    dnnl_engine_t handle = nullptr;
    check(dnnl_engine_create(&handle, dnnl_cpu, 0), "start its CPU engine");
    return handle;
  }();
  return engine;
}

struct StreamOfThread {
  Stream stream = [] {
    dnnl_stream_t handle = nullptr;
    check(dnnl_stream_create(&handle, engine(), dnnl_stream_default_flags), "start a stream");
    return Stream(handle);
  }();
};
/// The calling thread's stream.
inline dnnl_stream_t stream() { return detail::of_thread<StreamOfThread>().stream.get(); }

template <OneDnnOperand T>
inline constexpr dnnl_data_type_t data_type = std::is_same_v<T, f32> ? dnnl_f32 : dnnl_bf16;

/// A description of memory with a stride for each dimension.
template <std::size_t Rank>
dnnl_memory_desc_t strided(dnnl_data_type_t type, const std::int64_t (&sizes)[Rank],
                           const std::int64_t (&strides)[Rank]) {
  dnnl_memory_desc_t description;
  check(dnnl_memory_desc_init_by_strides(&description, static_cast<int>(Rank), sizes, type, strides),
        "describe a tensor");
  return description;
}

/// A description of a matrix in one of oneDNN's blocked layouts.
inline dnnl_memory_desc_t blocked(dnnl_data_type_t type, const std::int64_t (&sizes)[2],
                                  dnnl_format_tag_t layout) {
  dnnl_memory_desc_t description;
  check(dnnl_memory_desc_init_by_tag(&description, 2, sizes, type, layout), "describe a weight");
  return description;
}

/// A description of memory in the layout that oneDNN prefers.
template <std::size_t Rank>
dnnl_memory_desc_t any_layout(dnnl_data_type_t type, const std::int64_t (&sizes)[Rank]) {
  dnnl_memory_desc_t description;
  check(dnnl_memory_desc_init_by_tag(&description, static_cast<int>(Rank), sizes, type, dnnl_format_tag_any),
        "describe a tensor");
  return description;
}

/// An argument of a primitive: its index, its memory descriptor and its address.
struct Argument {
  int index;
  const dnnl_memory_desc_t* description;
  const void* data;
};

/// Code that oneDNN made for one op and one set of shapes, for the thread that calls it. Any thread may
/// call it. A dry run creates it too, so that the memory it keeps is counted.
class Primitive {
 public:
  /// `operation` is one of oneDNN's operation descriptors. `doing` completes "oneDNN could not ...".
  Primitive(const_dnnl_op_desc_t operation, const std::string& doing)
      : Primitive(doing, [&](dnnl_primitive_desc_t* made, dnnl_primitive_attr_t attributes) {
          return dnnl_primitive_desc_create(made, operation, attributes, engine(), nullptr);
        }) {}
  /// Copies DNNL_ARG_FROM to DNNL_ARG_TO, from one layout to another.
  static Primitive reorder(const dnnl_memory_desc_t& from, const dnnl_memory_desc_t& to) {
    return Primitive(
        "rearrange a tensor", [&](dnnl_primitive_desc_t* made, dnnl_primitive_attr_t attributes) {
          return dnnl_reorder_primitive_desc_create(made, &from, engine(), &to, engine(), attributes);
        });
  }

  /// The name of the code that oneDNN chose, "brgconv:avx512_core".
  std::string_view implementation() const {
    const char* name = "";
    check(dnnl_primitive_desc_query(description_.get(), dnnl_query_impl_info_str, 0, &name),
          "get the name of its implementation");
    return name;
  }
  /// Whether that is its reference implementation, a plain loop.
  bool is_plain_loop() const { return implementation().find("ref") != std::string_view::npos; }
  /// The memory descriptor of an argument, as DNNL_ARG_WEIGHTS.
  const dnnl_memory_desc_t& argument(int index) const {
    return *dnnl_primitive_desc_query_md(description_.get(), dnnl_query_exec_arg_md, index);
  }
  /// The bytes of scratch memory that a call needs.
  std::size_t scratch_bytes() const { return dnnl_memory_desc_get_size(&argument(DNNL_ARG_SCRATCHPAD)); }

  /// Runs on the calling thread. Four arguments at most.
  void operator()(std::initializer_list<Argument> arguments, std::byte* scratch) const {
    Memory memories[5];
    dnnl_exec_arg_t passed[5];
    int count = 0;
    const auto pass = [&](int index, const dnnl_memory_desc_t* description, const void* data) {
      dnnl_memory_t memory = nullptr;
      check(dnnl_memory_create(&memory, description, engine(), const_cast<void*>(data)), "wrap memory");
      memories[count].reset(memory);
      passed[count++] = {index, memory};
    };
    for (const Argument& each : arguments) pass(each.index, each.description, each.data);
    pass(DNNL_ARG_SCRATCHPAD, &argument(DNNL_ARG_SCRATCHPAD), scratch);
    check(dnnl_primitive_execute(primitive_.get(), stream(), count, passed), "run a primitive");
    check(dnnl_stream_wait(stream()), "finish a primitive");
  }

 private:
  template <class Describe>
  Primitive(const std::string& doing, Describe&& describe) {
    const MakingCode making;
    const OneOpenMpThread one_thread;  // oneDNN plans for the current number of threads
    dnnl_primitive_attr_t attributes_handle = nullptr;
    check(dnnl_primitive_attr_create(&attributes_handle), doing);
    const Attributes attributes(attributes_handle);
    // A primitive with its own scratch memory could only be used by the thread that created it.
    check(dnnl_primitive_attr_set_scratchpad_mode(attributes.get(), dnnl_scratchpad_mode_user), doing);
    dnnl_primitive_desc_t description = nullptr;
    check(describe(&description, attributes.get()), doing);
    description_.reset(description);
    require_memory_for_code(doing);
    dnnl_primitive_t primitive = nullptr;
    check(dnnl_primitive_create(&primitive, description), doing);
    primitive_.reset(primitive);
  }

  PrimitiveDescription description_;
  PrimitiveHandle primitive_;
};

/// Makes the code of oneDNN's GEMM of f32, some 4 MiB for the whole process: a primitive that calls it leaves
/// that to its first run, and a dry run has none.
inline void make_gemm_code(const std::string& doing) {
  [[maybe_unused]] static const bool made = [&] {
    const OneOpenMpThread one_thread;
    require_memory_for_code(doing);
    constexpr int side = 16;  // smaller ones take another path
    constexpr std::array<f32, side * side> zeros{};
    std::array<f32, side * side> product;
    check(dnnl_sgemm('N', 'N', side, side, side, 1, zeros.data(), side, zeros.data(), side, 0, product.data(),
                     side),
          doing);
    return true;
  }();
}

}  // namespace onednn

}  // namespace precast::host

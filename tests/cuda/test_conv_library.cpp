// Convolutions that a library computes: what it is asked, and what stays ours.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda/conv_runs.hpp>
#include <simt/stream.hpp>

#include <precast/cuda/runtime/device_copies.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/ops/conv.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// A library on the host, in cuDNN's place: f32 or bf16 as it lies, sums in float64. Must outlive its use.
struct HostConvLibrary {
  std::vector<gpu::ConvRequest> convolved;
  bool convolves = true;  ///< false: it refuses when it is called
  bool has_code = true;
  std::size_t workspace_bytes = 0;

  gpu::ConvLibrary library() {
    return {.has_code = [this](const gpu::ConvRequest&) { return has_code; },
            .convolve =
                [this](const gpu::ConvRequest& conv, gpu::Stream stream) {
                  convolved.push_back(conv);
                  if (!convolves) return false;
                  if (conv.dtype == gpu::LibraryDtype::f32) convolve<f32>(conv, stream);
                  if (conv.dtype == gpu::LibraryDtype::bf16) convolve<bf16>(conv, stream);
                  return true;
                },
            .workspace_bytes = [this](const gpu::ConvRequest&) { return workspace_bytes; }};
  }

 private:
  template <class T>
  static void convolve(const gpu::ConvRequest& conv, gpu::Stream stream) {
    const simt::StreamWork work("the library's convolution", stream);
    for (const void* operand : {conv.x, conv.weight, conv.bias}) work.reads(operand, 1);
    work.writes(conv.out, 1);
    if (conv.workspace_bytes) work.writes(conv.workspace, conv.workspace_bytes);
    const ConvSizes& s = conv.sizes;
    const auto at = [](const void* data, std::int64_t i) {
      return to_double(static_cast<const T*>(data)[i]);
    };
    for (std::int64_t pixel = 0; pixel < s.pixels(); ++pixel)
      for (std::int64_t f = 0; f < conv.features; ++f) {
        const std::int64_t line = pixel / s.out_width, picture = line / s.out_height;
        double sum = at(conv.bias, f);
        for (std::int64_t i = 0; i < s.kernel_height; ++i)
          for (std::int64_t j = 0; j < s.kernel_width; ++j) {
            const std::int64_t y = line % s.out_height * s.stride + i - s.pad_top;
            const std::int64_t x = pixel % s.out_width * s.stride + j - s.pad_left;
            if (y < 0 || y >= s.height || x < 0 || x >= s.width) continue;
            for (std::int64_t c = 0; c < s.channels; ++c)
              sum += at(conv.x, ((picture * s.height + y) * s.width + x) * conv.x_stride + c) *
                     at(conv.weight, ((f * s.kernel_height + i) * s.kernel_width + j) * s.channels + c);
          }
        static_cast<T*>(conv.out)[pixel * conv.out_stride + f] = from_double<T>(sum);
      }
  }
};

/// Convolves as the dispatch has it, where it may ask `library`. What is outside of the bounds of float64.
template <class P>
std::string wrong_with(const gpu::ConvLibrary& library, const ConvCase& c, bool biased = true,
                       ActivationFunction activate = ActivationFunction::none) {
  using T = typename P::storage;
  using X = typename P::activation;
  const gpu::LibraryScope scope(library);
  const auto x = random_tensor<X>({c.batch, c.height, c.width, c.channels}, 1);
  const auto weight = random_tensor<T>(c.weight(), 2, 0.3),
             bias = biased ? random_tensor<T>({c.features}, 3) : HostTensor<T>();
  const auto out = conv_of<P, X>(c, x, weight, bias, activate);
  if (activate != ActivationFunction::none) return "";
  return expected_conv<precisions<P, Conv>>(c, x, weight, bias).outside(out);
}

constexpr ConvCase square{.batch = 2,
                          .height = 5,
                          .width = 6,
                          .channels = 8,
                          .features = 8,
                          .kernel_height = 3,
                          .kernel_width = 3,
                          .pad_top = 1,
                          .pad_left = 1,
                          .pad_bottom = 1,
                          .pad_right = 1};

}  // namespace

TEMPLATE_TEST_CASE("a library convolves what it is told to", "", f32, bf16) {
  ConvCase halved = square;  // every other pixel, and a wide kernel
  halved.stride = 2;
  halved.kernel_width = 5;
  halved.pad_left = halved.pad_right = 2;
  for (const ConvCase& c : {square, halved}) {
    HostConvLibrary host;
    CHECK(wrong_with<Policy<Storage<TestType>>>(host.library(), c) == "");
    CHECK(host.convolved.size() == 1);
  }
}

TEST_CASE("what a library cannot do as the op table says is ours") {
  using P = Policy<Storage<bf16>>;
  HostConvLibrary host;
  const auto library = host.library();
  ConvCase lower = square;  // padded below and to the right alone, as an encoder halves its pictures
  lower.height = 6, lower.stride = 2, lower.pad_top = lower.pad_left = 0;
  CHECK(wrong_with<P>(library, lower) == "");
  CHECK(wrong_with<P>(library, square, false) == "");
  CHECK(wrong_with<P>(library, square, true, ActivationFunction::silu) == "");
  CHECK(wrong_with<Policy<Storage<bf16>, Overflow<Saturate>>>(library, square) == "");
  CHECK(wrong_with<Policy<Storage<bf16>, Activation<f32>>>(library, square) == "");
  CHECK(wrong_with<Policy<Storage<bf16>, Accumulate<bf16>>>(library, square) == "");
  ConvCase below = square;  // into which the kernel fits by the padding below alone
  below.height = 1, below.stride = 4, below.pad_top = 0, below.pad_bottom = 2;
  CHECK(wrong_with<P>(library, below) == "");
  ConvCase nothing = square;  // without pixels: every patch lies in the padding
  nothing.height = 0, nothing.pad_top = nothing.pad_bottom = 2;
  CHECK(wrong_with<P>(library, nothing) == "");
  ConvCase narrow = square;  // rows that do not begin on 16 bytes
  narrow.channels = 3;
  CHECK(wrong_with<P>(library, narrow) == "");
  CHECK(host.convolved.empty());
  host.has_code = false;
  CHECK(wrong_with<P>(library, square) == "");
  CHECK(host.convolved.empty());
  host.has_code = true;
  CHECK(wrong_with<P>(library, square) == "");
  CHECK(host.convolved.size() == 1);
}

TEST_CASE("a library convolves values of 16 bits as they are where the policy says f32") {
  HostConvLibrary host;
  CHECK(wrong_with<Policy<Storage<bf16>, Upcast<Conv>>>(host.library(), square) == "");
  CHECK(host.convolved.size() == 1);
}

TEST_CASE("a convolution that a library refuses only when it is called is ours") {
  HostConvLibrary host;
  host.convolves = false;
  CHECK(wrong_with<Policy<Storage<bf16>>>(host.library(), square) == "");
  CHECK(host.convolved.size() == 1);
}

TEST_CASE("what a library convolves in is counted while it does, and a dry run counts the same") {
  using P = Policy<Storage<bf16>>;
  HostConvLibrary host;
  host.workspace_bytes = 100'000;
  const gpu::LibraryScope scope(host.library());
  const auto x = random_tensor<bf16>(square.picture(), 1),
             values = random_tensor<bf16>(square.weight(), 2, 0.3), bias = random_tensor<bf16>({8}, 3);
  const auto run = [&] {
    const ConvWeight<P> weight(values, bias.values());
    (void)conv2d<P>(Tensor<bf16>(x.shape(), x.values()), weight, {1, 1, 1, 1, 1});
  };
  const auto counted = [&] {
    DryRun dry(DryRun::Counts::device_memory);
    run();
    return dry.peak();
  };
  const std::int64_t before = gpu::memory_use().in_use;
  gpu::reset_peak_memory();
  run();
  CHECK(counted() == gpu::memory_use().peak - before);
  CHECK(gpu::memory_use().in_use == before);
  const std::int64_t with_workspace = counted();
  host.workspace_bytes = 0;
  CHECK(counted() == with_workspace - static_cast<std::int64_t>(gpu::DeviceMemory::rounded(100'000)));
}

TEST_CASE("a padded side that indices of 32 bits do not reach is refused, not read elsewhere") {
  using P = Policy<Storage<f32>>;
  constexpr std::int64_t far = std::int64_t{1} << 30;
  const Tensor<f32> pixel({1, 1, 1, 1}, filled<f32>({1}, 1).values());
  const auto column = filled<f32>({1, 1, 3, 1}, 1), row = filled<f32>({1, 1, 1, 3}, 1);
  // The fifth patch begins at 2^32, where an int is 0 again.
  CHECK_THROWS_AS(conv2d<P>(pixel, ConvWeight<P>(column), {.stride = far, .pad_bottom = 4 * far + 2}),
                  ShapeError);
  CHECK_THROWS_AS(conv2d<P>(pixel, ConvWeight<P>(row), {.stride = far, .pad_right = 4 * far + 2}),
                  ShapeError);
  CHECK(to_host(conv2d<P>(pixel, ConvWeight<P>(column), {.stride = far, .pad_bottom = far + 2})).data()[0] ==
        1);
}

// Precast in a CUDA program that exists already, with an allocator, a stream and buffers of its own:
// attention on its bf16 in [B, S, H, D], four heads of queries to each head of keys and values. It owns not
// one Precast tensor. Built by hand:
//   nvcc -std=c++20 -arch=sm_80 -I include examples/cuda/existing_program.cu -o existing_program
// The same file runs in the emulator, where the tests build it with a host compiler.
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <precast/interop/pointer.hpp>
#include <precast/ops/attention.hpp>
#include <precast/policy/policy.hpp>

#if defined(__CUDACC__)
#include <precast/interop/cuda_types.hpp>
#endif

// The program as it was: CUDA, and nothing of Precast's.

#if defined(__CUDACC__)

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

/// An arena: one block of device memory, from which buffers are cut.
class Arena {
 public:
  explicit Arena(std::size_t bytes) { check(cudaMalloc(&block_, bytes)); }
  ~Arena() { cudaFree(block_); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  template <class T>
  T* cut(std::size_t count) {
    T* const buffer = reinterpret_cast<T*>(static_cast<std::byte*>(block_) + used_);
    used_ += (count * sizeof(T) + 255) / 256 * 256;
    return buffer;
  }

 private:
  void* block_ = nullptr;
  std::size_t used_ = 0;
};

struct OwnStream {
  cudaStream_t stream{};
  OwnStream() { check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); }
  ~OwnStream() { cudaStreamDestroy(stream); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
};

using Value = __nv_bfloat16;
Value rounded(float value) { return __float2bfloat16(value); }
float widened(Value value) { return __bfloat162float(value); }

void upload(Value* to, const std::vector<Value>& from, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from.data(), from.size() * sizeof(Value), cudaMemcpyHostToDevice, stream));
}
std::vector<Value> downloaded(const Value* from, std::size_t count, cudaStream_t stream) {
  std::vector<Value> values(count);
  check(cudaMemcpyAsync(values.data(), from, count * sizeof(Value), cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  return values;
}

#else  // the emulator, whose device memory is the host's

class Arena {
 public:
  explicit Arena(std::size_t bytes) : block_(bytes) {}
  template <class T>
  T* cut(std::size_t count) {
    T* const buffer = reinterpret_cast<T*>(block_.data() + used_);
    used_ += (count * sizeof(T) + 255) / 256 * 256;
    return buffer;
  }

 private:
  std::vector<std::byte> block_;
  std::size_t used_ = 0;
};

struct OwnStream {
  precast::gpu::Stream stream{};
};

using Value = precast::bf16;
Value rounded(float value) { return precast::convert<Value>(value); }
float widened(Value value) { return precast::convert<float>(value); }

template <class Stream>
void upload(Value* to, const std::vector<Value>& from, Stream) {
  std::memcpy(to, from.data(), from.size() * sizeof(Value));
}
template <class Stream>
std::vector<Value> downloaded(const Value* from, std::size_t count, Stream) {
  return std::vector<Value>(from, from + count);
}

#endif

constexpr int batch = 2, queries = 24, keys = 40, heads = 8, kv_heads = 2, width = 64;

std::vector<Value> made_up(int rows, int number_of_heads, float step) {
  std::vector<Value> values(static_cast<std::size_t>(batch * rows * number_of_heads * width));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] =
        rounded(std::sin(step * static_cast<float>(i)) + 0.25f * std::sin(static_cast<float>(i % 977)));
  return values;
}

// What the program gains: one call on its own pointers.

/// softmax(q k^T / sqrt(width)) v, on `stream`; queries and result [B, Sq, H, D], keys and values [B, Sk,
/// Hkv, D], all of them the caller's.
template <class Stream>
void attend(const Value* q, const Value* k, const Value* v, Value* out, Stream stream) {
  using namespace precast;
  using precast::interop::heads_at;
  using P = Policy<Storage<bf16>, Flash>;
  // Behind the stream may stand an allocator, whose memory ops take: with Flash, none. Without one it is that
  // of CUDA's pool, which returns what is free to the system whenever a stream is waited for, unless it is
  // told to keep it (gpu::use_device).
  const gpu::Context context{stream};
  // One width of heads and never a bias: one kernel is compiled, where P alone would have them all.
  attention_into<P, HeadWidths<width>, WithoutBias>(
      heads_at<DeviceSpace>(q, {batch, queries, heads, width}),
      heads_at<DeviceSpace>(k, {batch, keys, kv_heads, width}),
      heads_at<DeviceSpace>(v, {batch, keys, kv_heads, width}), {},
      heads_at<DeviceSpace>(out, {batch, queries, heads, width}), context);
}

// Whether it is right.

/// The result of one query of one head in float64.
double exact(const std::vector<Value>& q, const std::vector<Value>& k, const std::vector<Value>& v, int b,
             int query, int head, int column) {
  const auto at = [](const std::vector<Value>& x, int row, int of_heads, int h, int c) {
    return static_cast<double>(widened(x[static_cast<std::size_t>((row * of_heads + h) * width + c)]));
  };
  const int shared = head / (heads / kv_heads);
  double sum = 0, weighted = 0;
  for (int key = 0; key < keys; ++key) {
    double score = 0;
    for (int c = 0; c < width; ++c)
      score += at(q, b * queries + query, heads, head, c) * at(k, b * keys + key, kv_heads, shared, c);
    const double weight = std::exp(score / std::sqrt(static_cast<double>(width)));
    sum += weight;
    weighted += weight * at(v, b * keys + key, kv_heads, shared, column);
  }
  return weighted / sum;
}

int main() {
  const std::vector<Value> q = made_up(queries, heads, 0.7f), k = made_up(keys, kv_heads, 0.3f),
                           v = made_up(keys, kv_heads, 0.9f);
  Arena arena(std::size_t{1} << 20);
  Value* const on_q = arena.cut<Value>(q.size());
  Value* const on_k = arena.cut<Value>(k.size());
  Value* const on_v = arena.cut<Value>(v.size());
  Value* const on_out = arena.cut<Value>(q.size());
  const OwnStream own;
  upload(on_q, q, own.stream);
  upload(on_k, k, own.stream);
  upload(on_v, v, own.stream);
  try {
    attend(on_q, on_k, on_v, on_out, own.stream);
  } catch (const precast::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  const std::vector<Value> out = downloaded(on_out, q.size(), own.stream);
  double largest = 0, largest_value = 0;
  for (const Value value : v)
    largest_value = std::fmax(largest_value, std::fabs(static_cast<double>(widened(value))));
  for (int b = 0; b < batch; ++b)
    for (int query = 0; query < queries; ++query)
      for (int head = 0; head < heads; ++head)
        for (int c = 0; c < width; ++c) {
          const auto at = static_cast<std::size_t>(((b * queries + query) * heads + head) * width + c);
          largest = std::fmax(
              largest, std::fabs(static_cast<double>(widened(out[at])) - exact(q, k, v, b, query, head, c)));
        }
  std::printf("largest error of attention on a program's own buffers: %.1e\n", largest);
  // bf16 rounds the weights and the result, which is a mean of values, by 2^-9 each; sums are f32.
  return largest < 3 * 0x1p-9 * largest_value ? 0 : 1;
}

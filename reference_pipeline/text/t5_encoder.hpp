// T5's encoder for the pipeline: its config, and the embeddings of a prompt's tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include <precast/backend.hpp>
#include <precast/nn/parameter_source.hpp>
#include <precast/policy/policy.hpp>
#include <precast/problem/activate.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::text {

/// text_encoder_2/config.json of a diffusers folder (T5EncoderModel).
struct T5Config {
  std::int64_t vocab_size = 32128;
  std::int64_t d_model = 4096;
  std::int64_t d_kv = 64;
  std::int64_t d_ff = 10240;
  std::int64_t num_layers = 24;
  std::int64_t num_heads = 64;
  std::int64_t relative_attention_num_buckets = 32;
  std::int64_t relative_attention_max_distance = 128;
  double layer_norm_epsilon = 1e-6;
  bool gated = true;  ///< feed_forward_proj "gated-gelu" (T5 1.1)
  ActivationFunction activation = ActivationFunction::gelu_tanh;

  std::int64_t inner() const { return num_heads * d_kv; }
  /// The values that tensors do not determine and pictures depend on.
  auto not_in_tensors() const {
    return std::tuple(relative_attention_max_distance, layer_norm_epsilon, activation);
  }
  /// Reads and checks a config. Throws InputError that names the file and the key.
  static T5Config load(const std::filesystem::path& file);
  /// The bucket of a distance (key - query), Raffel et al. 2020: exact if small, logarithmic if large.
  std::int64_t bucket(std::int64_t distance) const;
};

class T5Encoder {
 public:
  virtual ~T5Encoder() = default;
  /// Encodes padded token ids without a mask, as FluxPipeline does: padding has an effect. Returns [tokens,
  /// d_model], widened to f32. Throws InputError for ids outside the vocabulary.
  virtual HostTensor<f32> encode(std::span<const std::int32_t> ids) const = 0;
};

inline namespace PRECAST_BACKEND {

/// Loads the encoder under a policy.
template <PolicyType P>
std::unique_ptr<T5Encoder> make_t5_encoder(const T5Config& config, const nn::ParameterSource& source);

}  // namespace PRECAST_BACKEND

}  // namespace precast::text

// Loads each component of a model folder under the policy that was chosen for it, for one backend.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <flux/model_folder.hpp>
#include <flux/transformer.hpp>
#include <text/clip_text_model.hpp>
#include <text/t5_encoder.hpp>
#include <vae/autoencoder.hpp>

#include <precast/nn/parameter_source.hpp>
#include <precast/policy/choice.hpp>

namespace precast::flux {

/// Is held while components are loaded and run: a backend readies its device here.
class DeviceSession {
 public:
  virtual ~DeviceSession() = default;
};

/// What a pipeline asks of the backend that its models run on. Loading throws what reading does, and
/// PathNotCompiled where a build leaves the policy out.
class Components {
 public:
  virtual ~Components() = default;

  virtual std::unique_ptr<Transformer> transformer(const PolicyChoice& choice,
                                                   const TransformerConfig& config,
                                                   const nn::ParameterSource& source) const = 0;
  virtual std::unique_ptr<text::ClipTextModel> clip(const PolicyChoice& choice,
                                                    const text::ClipConfig& config,
                                                    const nn::ParameterSource& source) const = 0;
  virtual std::unique_ptr<text::T5Encoder> t5(const PolicyChoice& choice, const text::T5Config& config,
                                              const nn::ParameterSource& source) const = 0;
  virtual std::unique_ptr<vae::Decoder> decoder(const PolicyChoice& choice,
                                                const vae::AutoencoderConfig& config,
                                                const nn::ParameterSource& source) const = 0;
  virtual std::unique_ptr<vae::Encoder> encoder(const PolicyChoice& choice,
                                                const vae::AutoencoderConfig& config,
                                                const nn::ParameterSource& source) const = 0;

  /// Readies the device for the calling thread.
  virtual std::unique_ptr<DeviceSession> start() const = 0;
  /// Bytes that components may still take, where that is known.
  virtual std::optional<std::int64_t> free_memory() const = 0;
  /// The most bytes that tensors of components held since the last reset.
  virtual std::int64_t peak_memory() const = 0;
  virtual void reset_peak_memory() const = 0;
};

/// Components that run on the CPU.
const Components& host_components();

}  // namespace precast::flux

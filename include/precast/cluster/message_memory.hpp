// MessageMemory: where the messages of gradients between ranks lie, and how gradients come into them and out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <precast/cluster/communicator.hpp>
#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/memory/buffer.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/memory/memory.hpp>

namespace precast::cluster {

/// The gradient of one parameter, in the memory of the model that it is of: the host's or a device's.
struct GradientMemory {
  void* values = nullptr;
  std::int64_t count = 0;
  SumDtype dtype = SumDtype::f32;  ///< f32, f16 or bf16
};

/// Calls `body` with a value of the type; f64 is none of gradients and their messages.
template <class Body>
void with_gradient_type(SumDtype dtype, Body&& body) {
  if (dtype == SumDtype::f16) return body(f16{});
  if (dtype == SumDtype::bf16) return body(bf16{});
  body(f32{});
}

/// Memory beside the gradients, for the communicator that sums in it.
class MessageMemory {
 public:
  MessageMemory() = default;
  MessageMemory(const MessageMemory&) = delete;
  MessageMemory& operator=(const MessageMemory&) = delete;
  virtual ~MessageMemory() = default;

  /// Room for a message, which stays where it is as long as this lives.
  virtual void* make(std::size_t bytes) = 0;
  /// Writes a gradient times `factor` to a place in a message of that dtype. What the gradient is from then
  /// on until `unpack` is not said.
  virtual void pack(const GradientMemory& gradient, f32 factor, void* place, SumDtype message) = 0;
  /// Writes what is at the place into the gradient.
  virtual void unpack(const void* place, SumDtype message, const GradientMemory& gradient) = 0;
};

/// Messages of gradients that lie in the host's memory. Each value is multiplied in f32 and rounded once.
class HostMessages final : public MessageMemory {
 public:
  void* make(std::size_t bytes) override { return messages_.emplace_back(bytes).data(); }
  void pack(const GradientMemory& gradient, f32 factor, void* place, SumDtype message) override {
    if (DryRun::active()) return;
    with_gradient_type(message, [&]<class Message>(Message) {
      with_gradient_type(gradient.dtype, [&]<class Gradient>(Gradient) {
        const auto* const from = static_cast<const Gradient*>(gradient.values);
        auto* const to = static_cast<Message*>(place);
        for (std::int64_t i = 0; i < gradient.count; ++i)
          to[i] = convert<Message>(convert<f32>(from[i]) * factor);
      });
    });
  }
  void unpack(const void* place, SumDtype message, const GradientMemory& gradient) override {
    if (DryRun::active()) return;
    with_gradient_type(message, [&]<class Message>(Message) {
      with_gradient_type(gradient.dtype, [&]<class Gradient>(Gradient) {
        const auto* const from = static_cast<const Message*>(place);
        auto* const to = static_cast<Gradient*>(gradient.values);
        for (std::int64_t i = 0; i < gradient.count; ++i) to[i] = convert<Gradient>(convert<f32>(from[i]));
      });
    });
  }

 private:
  std::vector<BufferIn<HostMemory>> messages_;
};

}  // namespace precast::cluster

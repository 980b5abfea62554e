// MessageMemory: the memory of gradient messages between ranks, and copies of gradients to and from it.
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

/// The gradient of one parameter, in the memory of its model: the host's or a device's.
struct GradientMemory {
  void* values = nullptr;
  std::int64_t count = 0;
  SumDtype dtype = SumDtype::f32;  ///< f32, f16 or bf16
};

/// Calls `body` with a value of the type; gradients and messages are never f64.
template <class Body>
void with_gradient_type(SumDtype dtype, Body&& body) {
  if (dtype == SumDtype::f16) return body(f16{});
  if (dtype == SumDtype::bf16) return body(bf16{});
  body(f32{});
}

/// Memory for messages, separate from the gradients, in which the communicator sums.
class MessageMemory {
 public:
  MessageMemory() = default;
  MessageMemory(const MessageMemory&) = delete;
  MessageMemory& operator=(const MessageMemory&) = delete;
  virtual ~MessageMemory() = default;

  /// Allocates a message, which keeps its address as long as this lives.
  virtual void* make(std::size_t bytes) = 0;
  /// Writes a gradient times `factor` to an address in a message of that dtype. The gradient is unspecified
  /// from then on until `unpack`.
  virtual void pack(const GradientMemory& gradient, f32 factor, void* place, SumDtype message) = 0;
  /// Writes the values at an address in a message into the gradient.
  virtual void unpack(const void* place, SumDtype message, const GradientMemory& gradient) = 0;
};

/// Messages of gradients in the host's memory. Each value is multiplied in f32 and rounded once.
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

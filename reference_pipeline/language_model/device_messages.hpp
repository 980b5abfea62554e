// DeviceMessages: gradient messages between ranks, in the memory of the gradients' device.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <precast/backend.hpp>
#include <precast/backend/convert.hpp>
#include <precast/cluster/message_memory.hpp>
#include <precast/memory/buffer.hpp>
#include <precast/tensor/view.hpp>
#include <precast/train/optimiser.hpp>

namespace precast::language_model {

inline namespace PRECAST_BACKEND {

/// Packed and unpacked by kernels on the current stream, without host synchronisation. If the message's
/// dtype is wider, a gradient is scaled in the message and rounded once; otherwise in place, rounded to its
/// own dtype and then to the message's.
template <ScalarDtype Gradient>
class DeviceMessages final : public cluster::MessageMemory {
 public:
  void* make(std::size_t bytes) override { return messages_.emplace_back(bytes).data(); }
  void pack(const cluster::GradientMemory& gradient, f32 factor, void* place,
            cluster::SumDtype message) override {
    const View<Gradient> values = values_of(gradient);
    cluster::with_gradient_type(message, [&]<class Message>(Message) {
      const View<Message> in_message(static_cast<Message*>(place), values.shape());
      constexpr bool is_wider = sizeof(Message) > sizeof(Gradient);
      if (!is_wider) train::scale_gradients<Gradient>(std::span(&values, 1), factor);
      backend::convert_values<Message>(View<const Gradient>(values), in_message);
      if (is_wider) train::scale_gradients<Message>(std::span(&in_message, 1), factor);
    });
  }
  void unpack(const void* place, cluster::SumDtype message,
              const cluster::GradientMemory& gradient) override {
    const View<Gradient> values = values_of(gradient);
    cluster::with_gradient_type(message, [&]<class Message>(Message) {
      backend::convert_values<Gradient>(
          View<const Message>(static_cast<const Message*>(place), values.shape()), values);
    });
  }

 private:
  static View<Gradient> values_of(const cluster::GradientMemory& gradient) {
    return {static_cast<Gradient*>(gradient.values), Shape{gradient.count}};
  }

  std::vector<BufferIn<backend::Memory>> messages_;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::language_model

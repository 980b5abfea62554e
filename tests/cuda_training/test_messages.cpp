#include <vector>

#include <catch2/catch.hpp>
#include <language_model/device_messages.hpp>

#include <precast/tensor/tensor.hpp>

using namespace precast;

TEST_CASE("a gradient in f16 is divided in its message of f32, where its part is no number of f16") {
  Tensor<f16> gradient(Shape{3}, std::vector<f16>(3, convert<f16>(0x1p-22f)));
  language_model::DeviceMessages<f16> messages;
  auto* const message = static_cast<f32*>(messages.make(3 * sizeof(f32)));
  messages.pack({gradient.view().data(), 3, cluster::SumDtype::f16}, 0.125f, message, cluster::SumDtype::f32);
  std::vector<f32> packed(3);
  gpu::DeviceMemory::copy_to_host(packed.data(), message, 3 * sizeof(f32));
  CHECK(packed == std::vector<f32>(3, 0x1p-25f));
}

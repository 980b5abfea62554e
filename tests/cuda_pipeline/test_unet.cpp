// UNets on the emulated device, against diffusers' goldens and the host.
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda_pipeline/emulated_backend.hpp>
#include <cuda_pipeline/same_ops.hpp>
#include <simt/session.hpp>
#include <stable_diffusion/golden_unets.hpp>
#include <stable_diffusion/models.hpp>
#include <support/arrays.hpp>
#include <support/golden.hpp>

#include <precast/policy/choice.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

// Small enough for the emulator: between them a picture of an odd size, two pictures at once, every kind of
// block, both kinds of projection, both orders of waves.
constexpr const char* small_unets[] = {"one_level", "unlike", "refiner"};

std::unique_ptr<stable_diffusion::Denoiser> model_of(const GoldenUNet& unet, const families::Backend& backend,
                                                     const PolicyChoice& choice) {
  return stable_diffusion::models_of(backend, choice).denoiser(unet.config(), *unet.source());
}

HostTensor<f32> predicted(const GoldenUNet& unet, const families::Backend& backend,
                          const PolicyChoice& choice) {
  const auto session = backend.start();
  return unet.predict(model_of(unet, backend, choice)->unet(), 1);
}

}  // namespace

TEST_CASE("on the emulated device UNets predict what diffusers predicts") {
  const Golden golden("unets");
  for (const char* name : small_unets)
    for (const PolicyChoice& choice : emulated_choices()) {
      const GoldenUNet unet(golden, name);
      const double error = relative_error(predicted(unet, emulated_backend(), choice).values(),
                                          unet.expected(1, "f32").values());
      CAPTURE(name, to_string(choice), error);
      if (choice.precision == precision_of<f32>) {
        CHECK(error <= largest_error);
      } else {
        const double theirs = unet.their_errors(to_string(choice.precision))[1];
        CHECK(error <= 2 * theirs);
        CHECK(error > 0.05 * theirs);  // not f32 under another name
      }
    }
}

TEST_CASE(
    "on the emulated device a UNet has the same bits whatever the "
    "schedule and when copies land") {
  const Golden golden("unets");
  const GoldenUNet unet(golden, "one_level");
  for (const PolicyChoice& choice : emulated_choices()) {
    INFO(to_string(choice));
    const auto with = [&](std::uint64_t seed, simt::Copies copies) {
      simt::Options options;
      options.seed = seed;
      options.copies = copies;
      const simt::Session session(options);
      return predicted(unet, emulated_backend(), choice);
    };
    CHECK(same_bits(with(1, simt::Copies::late), with(2, simt::Copies::early)));
  }
}

TEST_CASE(
    "the watch hook sees the same ops of a UNet on the emulated device "
    "as on the host",
    "[watch]") {
  const Golden golden("unets");
  const GoldenUNet unet(golden, "unlike");
  check_same_ops([&](const families::Backend& backend, const PolicyChoice& choice) {
    predicted(unet, backend, choice);
  });
}

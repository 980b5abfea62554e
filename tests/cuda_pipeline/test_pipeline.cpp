// The whole pipeline with its components on the emulated device, against diffusers' goldens and the host.
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda_pipeline/emulated_backend.hpp>
#include <cuda_pipeline/memory_of_runs.hpp>
#include <cuda_pipeline/same_ops.hpp>
#include <flux/pipeline.hpp>
#include <simt/session.hpp>
#include <support/arrays.hpp>
#include <support/golden.hpp>
#include <support/golden_requests.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

flux::Result run(const families::Backend& backend, std::string_view folder, const PolicyChoice& choice,
                 const flux::Request& request) {
  const flux::FluxPipeline pipeline(golden_model(folder), flux::ComponentChoices::all(choice), backend);
  return pipeline.generate(request);
}

/// The relative error of final latents from those that diffusers computes in f32.
double error_of(const flux::Result& result, const Golden& golden, std::uint64_t seed) {
  return relative_error(result.latents.values(),
                        golden.tensor("seeds." + std::to_string(seed) + ".f32").values());
}

}  // namespace

TEST_CASE("on the emulated device the pipeline is as close to diffusers as it must be on the host") {
  for (const char* folder : golden_folders) {
    const Golden golden(folder);
    const std::vector<std::uint64_t> seeds = golden.fact("seeds");
    for (const PolicyChoice& choice : emulated_choices()) {
      flux::Request request = request_of(golden);
      request.seed = seeds.front();
      const double error = error_of(run(emulated_backend(), folder, choice, request), golden, request.seed);
      CAPTURE(folder, to_string(choice), error);
      if (choice.precision == precision_of<f32>) {
        CHECK(error <= largest_error);
      } else {
        const std::vector<double> theirs =
            golden.fact("errors")[std::string(to_string(choice.precision)) + "_from_f32"];
        CHECK(error <= 2 * theirs.front());
        CHECK(error > 0.05 * theirs.front());  // not f32 under another name
      }
    }
  }
}

TEST_CASE("on the emulated device a run has the same bits whatever the schedule and when copies land") {
  const Golden golden("dev_f32");
  const flux::Request request = request_of(golden);
  for (const PolicyChoice& choice : emulated_choices()) {
    INFO(to_string(choice));
    const auto with = [&](std::uint64_t seed, simt::Copies copies) {
      simt::Options options;
      options.seed = seed;
      options.copies = copies;
      const simt::Session session(options);
      return run(emulated_backend(), "dev_f32", choice, request);
    };
    const flux::Result late = with(1, simt::Copies::late), early = with(2, simt::Copies::early);
    CHECK(same_bits(late.latents, early.latents));
    CHECK(late.images.front().rgb == early.images.front().rgb);
  }
}

TEST_CASE("a step of a picture waits for the one before the last alone, and needs nothing of the host") {
  const Golden golden("dev_f32");
  const PolicyChoice choice = emulated_choices().front();
  flux::Request request = request_of(golden);
  for (const bool negative : {false, true}) {
    if (negative) {
      request.negative = "blue";
      request.cfg_scale = 2;
    }
    CAPTURE(negative);
    const auto with_steps = [&](std::int64_t steps) {
      request.steps = steps;
      const simt::Session session;
      run(emulated_backend(), "dev_f32", choice, request);
      return std::tuple(session.waits(), session.uploads(), session.launches().size());
    };
    const auto [waits, uploads, launches] = with_steps(2);
    const auto [waits_of_more, uploads_of_more, launches_of_more] = with_steps(5);
    CHECK(launches_of_more > launches);
    CHECK(waits > 0);
    CHECK(waits_of_more - waits == 5 - 2);
    CHECK(uploads_of_more == uploads);
  }
}

TEST_CASE("a dry run takes the device's memory that a run takes") {
  const Golden golden("dev_f32");
  for (const PolicyChoice& choice : emulated_choices()) {
    const flux::FluxPipeline pipeline(golden_model("dev_f32"), flux::ComponentChoices::all(choice),
                                      emulated_backend());
    INFO(to_string(choice));
    check_estimate_of_run(pipeline, request_of(golden));
    INFO("from a picture");
    check_estimate_of_run(pipeline, image_request_of(golden, 0));
  }
}

TEST_CASE("on the emulated device a picture can start from another one") {
  const Golden golden("dev_f32");
  const auto latents_on = [&](const families::Backend& backend, const PolicyChoice& choice) {
    return run(backend, "dev_f32", choice, image_request_of(golden, 0)).latents;
  };
  const Tensor<f32> in_f32 = latents_on(families::cpu_backend(), f32_choices().front());
  for (const PolicyChoice& choice : emulated_choices()) {
    const double device = relative_error(latents_on(emulated_backend(), choice).values(), in_f32.values());
    const double host = relative_error(latents_on(families::cpu_backend(), choice).values(), in_f32.values());
    CAPTURE(to_string(choice), device, host);
    // In f32 as close as diffusers' own runs are to each other, else at most twice as far as the host.
    CHECK(device <= (choice.precision == precision_of<f32> ? largest_error : 2 * host));
  }
}

TEST_CASE("the watch hook sees the same ops on the emulated device as on the host", "[watch]") {
  const Golden golden("dev_f32");
  const flux::Request request = request_of(golden);
  check_same_ops([&](const families::Backend& backend, const PolicyChoice& choice) {
    run(backend, "dev_f32", choice, request);
  });
}

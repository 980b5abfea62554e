// Progress runs forward to the end of each stage, and throwing from it leaves nothing behind.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <support/golden.hpp>
#include <support/golden_requests.hpp>

#include <precast/tensor/memory.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

struct Step {
  std::string stage;
  std::int64_t done, total;
};

std::vector<Step> steps_of(const flux::FluxPipeline& pipeline, const flux::Request& request) {
  std::vector<Step> steps;
  pipeline.generate(request, [&](const flux::Progress& progress) {
    steps.push_back({std::string(progress.stage), progress.done, progress.total});
  });
  return steps;
}

struct Cancelled {};

}  // namespace

TEST_CASE("progress runs forward in each stage and ends at its total") {
  for (const char* folder : golden_folders) {
    const Golden golden(folder);
    const auto pipeline = open_golden(folder, compiled_choices().front());
    flux::Request request = golden.fact("img2img").empty() ? request_of(golden) : image_request_of(golden, 0);
    request.prompts.emplace_back("another");
    const std::vector<Step> steps = steps_of(pipeline, request);
    REQUIRE(!steps.empty());
    // Two pictures: the stages of each take turns, and go on where they were.
    std::map<std::string, Step> last;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      INFO(folder << ": " << steps[i].stage << " " << steps[i].done << " of " << steps[i].total);
      CHECK(steps[i].total > 0);
      CHECK(steps[i].done >= 0);
      CHECK(steps[i].done <= steps[i].total);
      if (const auto before = last.find(steps[i].stage); before != last.end()) {
        CHECK(steps[i].done >= before->second.done);
        CHECK(steps[i].total == before->second.total);
      }
      last[steps[i].stage] = steps[i];
    }
    for (const auto& [stage, step] : last) {
      INFO(stage);
      CHECK(step.done == step.total);
    }
    CHECK(last.contains("load transformer"));
    CHECK(last.contains("denoise"));
    CHECK(steps.back().stage == "decode");
  }
}

TEST_CASE("throwing from progress, wherever it is, leaves no memory, and the next run is whole") {
  const Golden golden("dev_f32");
  for (const PolicyChoice& choice : compiled_choices()) {
    INFO(to_string(choice));
    const auto pipeline = open_golden("dev_f32", choice);
    const flux::Request request = image_request_of(golden, 0);
    std::size_t calls = 0;
    const flux::Result whole = pipeline.generate(request, [&](const flux::Progress&) { ++calls; });
    REQUIRE(calls > 20);
    const std::int64_t before = memory_use().in_use;
    // All places under one policy; a few under the others.
    const std::size_t stride = choice == compiled_choices().front() ? 1 : calls / 7;
    for (std::size_t last = 1; last <= calls; last += stride) {
      INFO("thrown from call " << last << " of " << calls);
      std::size_t count = 0;
      CHECK_THROWS_AS(pipeline.generate(request,
                                        [&](const flux::Progress&) {
                                          if (++count == last) throw Cancelled();
                                        }),
                      Cancelled);
      CHECK(count == last);
      CHECK(memory_use().in_use == before);
    }
    const flux::Result again = pipeline.generate(request);
    CHECK(std::memcmp(again.latents.data(), whole.latents.data(), whole.latents.values().size_bytes()) == 0);
  }
}

TEST_CASE("a finished run holds its result and nothing else") {
  const Golden golden("static_sharded");
  const auto pipeline = open_golden("static_sharded", compiled_choices().front());
  const std::int64_t before = memory_use().in_use;
  {
    const flux::Result result = pipeline.generate(request_of(golden));
    CHECK(memory_use().in_use - before <=
          2 * static_cast<std::int64_t>(result.latents.values().size_bytes()) + 64);
    CHECK(result.peak_bytes > before);
  }
  CHECK(memory_use().in_use == before);
}

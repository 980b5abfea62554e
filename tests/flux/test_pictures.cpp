// Several pictures: each is given away as soon as it is there, where memory allows it, and all are the same
// then.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <support/golden.hpp>
#include <support/golden_requests.hpp>

#include <precast/memory/memory.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// The CPU, with as much free memory as it is told.
class SmallBackend final : public families::Backend {
 public:
  explicit SmallBackend(std::int64_t free_bytes) : free_bytes_(free_bytes) {}
  std::span<const families::FamilyModels> models(const PolicyChoice& choice) const override {
    return families::cpu_backend().models(choice);
  }
  std::unique_ptr<families::DeviceSession> start() const override { return families::cpu_backend().start(); }
  std::optional<std::int64_t> free_memory() const override { return free_bytes_; }
  MemoryUse memory_use() const override { return families::cpu_backend().memory_use(); }
  void reset_peak_memory() const override { families::cpu_backend().reset_peak_memory(); }

 private:
  std::int64_t free_bytes_;
};

flux::Request four_pictures() {
  flux::Request request = request_of(Golden("dev_f32"));
  request.batch = 2;
  request.prompts.emplace_back("another");
  return request;
}

/// What happened in a run, in order: "denoise 3" for a step, "picture" for a picture that was given away.
struct Events {
  std::vector<std::string> names;
  flux::Result result;
};

Events events_of(const flux::FluxPipeline& pipeline, const flux::Request& request) {
  std::vector<std::string> names;
  flux::Result result = pipeline.generate(
      request,
      [&](const flux::Progress& at) {
        if (at.stage == "denoise") names.emplace_back("denoise");
      },
      [&](const flux::Result& so_far) {
        names.emplace_back("picture");
        const std::size_t pictures = so_far.images.size();
        CHECK(pictures == static_cast<std::size_t>(std::ranges::count(names, "picture")));
        CHECK(so_far.prompts.size() == pictures);
        CHECK(so_far.prompts.back() == request.prompts[(pictures - 1) / 2]);
        CHECK(so_far.used.steps == request.steps);
        CHECK(so_far.sampler == "Euler");
      });
  return {std::move(names), std::move(result)};
}

std::size_t position(const Events& events, const char* name, bool last) {
  const auto& names = events.names;
  return last ? names.size() - 1 -
                    static_cast<std::size_t>(std::find(names.rbegin(), names.rend(), name) - names.rbegin())
              : static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace

TEST_CASE("each of several pictures is given away before the next is begun") {
  const flux::Request request = four_pictures();
  for (const PolicyChoice& choice : compiled_choices()) {
    INFO(to_string(choice));
    const Events events = events_of(open_golden("dev_f32", choice), request);
    CHECK(events.result.images.size() == 4);
    CHECK(position(events, "picture", false) < position(events, "denoise", true));
  }
}

TEST_CASE("where both models do not fit, pictures come at the end, and are the same") {
  const flux::Request request = four_pictures();
  const PolicyChoice choice = compiled_choices().front();
  const SmallBackend large(std::int64_t{1} << 40);
  const flux::FluxPipeline roomy(golden_model("dev_f32"), flux::ComponentChoices::all(choice), large);
  const std::int64_t together = roomy.estimate(request).needed();
  const SmallBackend small(together - 1);
  const flux::FluxPipeline narrow(golden_model("dev_f32"), flux::ComponentChoices::all(choice), small);
  CHECK(narrow.estimate(request).needed() < together);
  const Events one_by_one = events_of(roomy, request), in_stages = events_of(narrow, request);
  CHECK(position(one_by_one, "picture", false) < position(one_by_one, "denoise", true));
  CHECK(position(in_stages, "picture", false) > position(in_stages, "denoise", true));
  REQUIRE(in_stages.result.images.size() == one_by_one.result.images.size());
  for (std::size_t i = 0; i < in_stages.result.images.size(); ++i)
    CHECK(in_stages.result.images[i].rgb == one_by_one.result.images[i].rgb);
  const auto expected = one_by_one.result.latents.values(), latents = in_stages.result.latents.values();
  CHECK(std::equal(latents.begin(), latents.end(), expected.begin(), expected.end()));
}

TEST_CASE("a run that ends after a picture holds nothing") {
  const flux::Request request = four_pictures();
  const auto pipeline = open_golden("dev_f32", compiled_choices().front());
  const std::int64_t before = memory_use().in_use;
  struct Enough {};
  int pictures = 0;
  CHECK_THROWS_AS(pipeline.generate(request, {},
                                    [&](const flux::Result&) {
                                      if (++pictures == 2) throw Enough();
                                    }),
                  Enough);
  CHECK(pictures == 2);
  CHECK(memory_use().in_use == before);
}

TEST_CASE("strength 0 keeps the picture as the autoencoder has it: no text, no step, no noise") {
  const Golden golden("dev_f32");
  for (const PolicyChoice& choice : f32_choices()) {
    INFO(to_string(choice));
    const auto pipeline = open_golden("dev_f32", choice);
    flux::Request request = image_request_of(golden, 0);
    request.strength = 0;
    std::vector<std::string> stages;
    const flux::Result kept = pipeline.generate(request, [&](const flux::Progress& at) {
      if (stages.empty() || stages.back() != at.stage) stages.emplace_back(at.stage);
    });
    CHECK(stages ==
          std::vector<std::string>{"load VAE encoder", "encode image", "load VAE decoder", "decode"});
    CHECK(pipeline.estimate(request).needed() > 0);
    request.prompts = {"something else entirely"};
    request.steps = *request.steps + 3;
    const flux::Result again = pipeline.generate(request);
    CHECK(again.images.front().rgb == kept.images.front().rgb);
    // The smallest strength that takes a step begins with a part of noise, which this one has not.
    request.strength = 1;
    CHECK_FALSE(pipeline.generate(request).images.front().rgb == kept.images.front().rgb);
  }
}

// bf16 and f16: no further from f32 than diffusers' own runs in these dtypes, by more than a tenth.
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <support/golden.hpp>
#include <support/golden_requests.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

std::vector<PolicyChoice> half_choices() {
  std::vector<PolicyChoice> choices;
  for (const PolicyChoice& choice : compiled_choices())
    if (choice.precision != precision_of<f32>) choices.push_back(choice);
  return choices;
}

}  // namespace

// One run's error depends on the luck of its roundings, by about 10%. So the three seeds of a folder count
// together, theirs and ours, as the root of the mean square.
TEST_CASE("errors in bf16 and f16 are at most 1.1 times diffusers' own", "[many_runs]") {
  for (const char* folder : golden_folders) {
    const Golden golden(folder);
    const std::vector<int> seeds = golden.fact("seeds");
    for (const PolicyChoice& choice : half_choices()) {
      const auto pipeline = open_golden(folder, choice);
      std::vector<double> ours;
      for (const int seed : seeds) {
        flux::Request request = request_of(golden);
        request.seed = static_cast<std::uint64_t>(seed);
        const flux::Result result = pipeline.generate(request);
        ours.push_back(relative_error(result.latents.values(),
                                      golden.tensor("seeds." + std::to_string(seed) + ".f32").values()));
      }
      const std::vector<double> theirs =
          golden.fact("errors")[std::string(to_string(choice.precision)) + "_from_f32"];
      const double ratio = root_mean_square(ours) / root_mean_square(theirs);
      CAPTURE(folder, to_string(choice), ours, theirs, ratio);
      CHECK(ratio <= 1.1);
      CHECK(ratio > 0.05);  // not f32 under another name
    }
  }
}

// Sample files: what is written reads back, and what is broken is refused in one line.
#include <array>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <casting/sample_file.hpp>
#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/temporary_folder.hpp>

#include <precast/io/safetensors.hpp>
#include <precast/io/write_safetensors.hpp>

namespace sample_files {
namespace {

using namespace precast;
using namespace precast::casting;
using namespace precast::testing;

Samples two_samples() {
  Samples samples{{{"model", "shapes"}, {"prompts", "[\"a\"]"}}, {}};
  for (const std::uint32_t seed : {1u, 2u})
    samples.recorded.push_back({{random_tensor<f32>({5, 4}, seed), 2, random_tensor<f32>({1, 4}, seed + 10),
                                 random_tensor<f32>({5, 3}, seed + 20)},
                                3,
                                seed,
                                0.25f});
  return samples;
}

using Tensors = std::vector<std::pair<std::string, HostTensor<f32>>>;

/// The tensors of one good sample.
Tensors good() {
  Tensors tensors;
  tensors.emplace_back("0.img", random_tensor<f32>({3, 4}, 1));
  tensors.emplace_back("0.txt", random_tensor<f32>({2, 4}, 2));
  tensors.emplace_back("0.vec", random_tensor<f32>({1, 4}, 3));
  tensors.emplace_back("0.positions", random_tensor<f32>({5, 3}, 4));
  tensors.emplace_back("0.step", filled<f32>({1, 3}, 1));
  return tensors;
}

}  // namespace

TEST_CASE("samples read back as they were written", "[casting]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "samples.safetensors";
  const Samples samples = two_samples();
  write_samples(file, samples);
  const Samples back = read_samples(file);
  CHECK(back.facts == samples.facts);
  REQUIRE(back.recorded.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto &a = samples.recorded[i], &b = back.recorded[i];
    CHECK(same_bits(a.state.hidden, b.state.hidden));
    CHECK(same_bits(a.state.vec, b.state.vec));
    CHECK(same_bits(a.state.positions, b.state.positions));
    CHECK(b.state.text_tokens == 2);
    CHECK(b.picture == 3);
    CHECK(b.step == a.step);
    CHECK(b.timestep == 0.25f);
  }
  CHECK(back.fingerprint() == samples.fingerprint());
  const io::SafetensorsFile raw(file);
  CHECK(raw.at("0.img").shape == Shape{3, 4});
  CHECK(raw.at("0.txt").shape == Shape{2, 4});

  Samples other = two_samples();
  other.recorded[1].state.hidden.data()[19] += 1;
  CHECK(other.fingerprint() != samples.fingerprint());
  other = two_samples();
  other.facts["seed"] = "1";
  CHECK(other.fingerprint() != samples.fingerprint());
  other = two_samples();
  other.recorded[0].state.text_tokens = 1;
  CHECK(other.fingerprint() != samples.fingerprint());
}

TEST_CASE("sample files that are broken are refused with the tensor's name", "[casting]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "samples.safetensors";
  const std::map<std::string, std::string> facts{{"format", "precast samples 1"}};
  const auto refusal = [&](const std::function<void(Tensors&)>& damage,
                           const std::map<std::string, std::string>& metadata) -> std::string {
    Tensors tensors = good();
    damage(tensors);
    std::vector<io::NamedTensor> named;
    for (const auto& [name, values] : tensors) named.push_back({name, values});
    io::write_safetensors(file, named, metadata);
    try {
      read_samples(file);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal([](Tensors&) {}, facts).empty());
  CHECK_THAT(refusal([](Tensors&) {}, {}), Catch::Contains("not a sample file"));
  CHECK_THAT(refusal([](Tensors& t) { t.clear(); }, facts), Catch::Contains("0 tensors"));
  CHECK_THAT(refusal([](Tensors& t) { t.pop_back(); }, facts), Catch::Contains("4 tensors"));
  CHECK_THAT(refusal([](Tensors& t) { t[0].first = "1.img"; }, facts),
             Catch::Contains("'0.img'") && Catch::Contains("missing"));
  const auto with = [&](std::size_t place, HostTensor<f32> values) {
    return refusal([&](Tensors& t) { t[place].second = std::move(values); }, facts);
  };
  CHECK_THAT(with(1, random_tensor<f32>({2, 5}, 1)),
             Catch::Contains("'0.txt'") && Catch::Contains("where rows of 4 values are wanted"));
  CHECK_THAT(with(0, random_tensor<f32>({4}, 1)),
             Catch::Contains("where rows of one or more values are wanted"));
  CHECK_THAT(with(2, random_tensor<f32>({2, 4}, 1)), Catch::Contains("'0.vec'"));
  CHECK_THAT(with(2, random_tensor<f32>({4}, 1)), Catch::Contains("'0.vec'"));
  CHECK_THAT(with(3, random_tensor<f32>({4, 3}, 1)), Catch::Contains("'0.positions'"));
  CHECK_THAT(with(4, filled<f32>({1, 2}, 1)), Catch::Contains("'0.step'"));
  CHECK_THAT(with(4, filled<f32>({1, 3}, -1)), Catch::Contains("'0.step'"));
  CHECK_THAT(with(0, filled<f32>({3, 4}, std::numeric_limits<double>::quiet_NaN())),
             Catch::Contains("'0.img'") && Catch::Contains("finite"));
  CHECK_THROWS_AS(read_samples(folder.path() / "nowhere.safetensors"), InputError);
}

}  // namespace sample_files

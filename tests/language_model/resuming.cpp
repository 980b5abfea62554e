// Checkpoints: a run that goes on has the bits of one that never stopped; bad ones are refused.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <language_model/golden_batches.hpp>
#include <support/temporary_folder.hpp>

#include <precast/host/runtime/parallel.hpp>

namespace precast::language_model {

namespace {

std::vector<std::byte> bits(Trainer& trainer) {
  std::vector<std::byte> all;
  for (const StateTensor& tensor : trainer.model().state())
    all.insert(all.end(), tensor.bytes.begin(), tensor.bytes.end());
  return all;
}

TrainingOptions options_of(const std::string& policy) {
  return {.policy = policy,
          .steps = 12,
          .clip = 1.0,
          .warmup = 3,
          .schedule = train::Schedule::cosine,
          .scaler = {.init_scale = 0x1p21, .growth_interval = 4}};
}

}  // namespace

TEST_CASE("a run that goes on has the bits of one that never stopped", "[training]") {
  const std::string policy = GENERATE("f32", "amp-f16", "naive-f16");
  const std::string model = GENERATE("tiny_gpt2", "tiny_llama");
  CAPTURE(policy, model);
  const testing::TemporaryFolder folder;
  const GoldenBatches batches;
  Trainer whole = golden_trainer(model, options_of(policy));
  for (int step = 0; step < 5; ++step) whole.step(batches);
  whole.write_checkpoint(folder.path() / "checkpoint.safetensors");
  Trainer resumed = golden_trainer(model, options_of(policy));
  resumed.read_checkpoint(open_checkpoint(folder.path() / "checkpoint.safetensors"));
  CHECK(resumed.next_step() == 5);
  while (!whole.done()) {
    const StepFacts a = whole.step(batches), b = resumed.step(batches);
    CHECK(std::memcmp(&a.loss, &b.loss, sizeof a.loss) == 0);
    CHECK(a.scale == b.scale);
  }
  CHECK(bits(whole) == bits(resumed));
}

TEST_CASE("training has the same bits with one thread and with two", "[training]") {
  const std::string policy = GENERATE("f32", "amp-f16", "amp-bf16");
  CAPTURE(policy);
  const auto run = [&](int threads) {
    host::set_threads(threads);
    Trainer trainer = golden_trainer("tiny_llama", options_of(policy));
    for (int step = 0; step < 6; ++step) trainer.step(GoldenBatches());
    return bits(trainer);
  };
  const auto one = run(1);
  CHECK(one == run(2));
}

TEST_CASE("checkpoints of another model or policy, and broken ones, are refused in a line", "[training]") {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "checkpoint.safetensors";
  golden_trainer("tiny_gpt2", options_of("f32")).write_checkpoint(file);
  const auto refused = [&](const std::string& model, const std::string& policy, const std::string& words) {
    Trainer trainer = golden_trainer(model, options_of(policy));
    const auto before = bits(trainer);
    try {
      trainer.read_checkpoint(open_checkpoint(file));
      FAIL("was read");
    } catch (const InputError& error) {
      INFO(error.what());
      CHECK(std::string(error.what()).find(words) != std::string::npos);
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
    }
    CHECK(bits(trainer) == before);
  };
  refused("tiny_llama", "f32", "is missing");
  refused("tiny_gpt2", "amp-f16", "was written under the policy f32");
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  refused("tiny_gpt2", "f32", "checkpoint.safetensors: its ");
  std::filesystem::copy_file(golden_folder("tiny_gpt2") / "model.safetensors", file,
                             std::filesystem::copy_options::overwrite_existing);
  refused("tiny_gpt2", "f32", "is not a checkpoint");
}

TEST_CASE("a checkpoint appears after what it is read with, and not at all where that fails", "[training]") {
  const testing::TemporaryFolder folder;
  const auto checkpoint = folder.path() / "checkpoint.safetensors";
  Trainer trainer = golden_trainer("tiny_gpt2", options_of("f32"));
  bool was_asked = false;
  trainer.write_checkpoint(checkpoint, "", [&] {
    was_asked = true;
    CHECK_FALSE(std::filesystem::exists(checkpoint));
  });
  CHECK(was_asked);
  CHECK(std::filesystem::exists(checkpoint));
  std::filesystem::remove(checkpoint);
  CHECK_THROWS_AS(trainer.write_checkpoint(checkpoint, "", [] { throw InputError("no config"); }),
                  InputError);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a model that is written is the one that was read", "[training]") {
  const std::string model = GENERATE("tiny_gpt2", "tiny_llama");
  CAPTURE(model);
  const testing::TemporaryFolder folder;
  Trainer trainer = golden_trainer(model, {.steps = 3});
  trainer.write_model(folder.path());
  const auto given = golden_folder(model);
  const LanguageModelConfig config = LanguageModelConfig::load(folder.path() / "config.json");
  CHECK(config.json() == LanguageModelConfig::load(given / "config.json").json());
  CHECK(read_values(folder.path(), config) == read_values(given, config));
  const io::SafetensorsFile a(folder.path() / "model.safetensors"), b(given / "model.safetensors");
  REQUIRE(a.tensors().size() == b.tensors().size());
  for (std::size_t i = 0; i < a.tensors().size(); ++i) {
    CHECK(a.tensors()[i].name == b.tensors()[i].name);
    CHECK(a.tensors()[i].shape == b.tensors()[i].shape);
    CHECK(std::ranges::equal(a.tensors()[i].bytes, b.tensors()[i].bytes));
  }
}

}  // namespace precast::language_model

#include <timing/model_sizes.hpp>

#include <precast/error.hpp>
#include <precast/io/joined.hpp>
#include <precast/io/message.hpp>

namespace precast::timing {

namespace {

constexpr std::int64_t vocabulary = 10'000;

constexpr ModelSize sizes[] = {{"tiny", 64, 256, 2, 4},    {"S", 768, 3072, 12, 12},
                               {"M", 1024, 4096, 24, 16},  {"L", 1280, 5120, 36, 20},
                               {"XL", 1600, 6400, 48, 25}, {"2.7B", 2560, 10240, 32, 32}};

}  // namespace

std::span<const ModelSize> model_sizes() { return sizes; }

const ModelSize& model_size(std::string_view name) {
  for (const ModelSize& size : sizes)
    if (size.name == name) return size;
  throw InputError("there is no model size '" + io::printable(std::string(name), 40) + "': it is one of " +
                   io::joined(sizes, ", ", &ModelSize::name));
}

language_model::LanguageModelConfig model_config(const ModelSize& size,
                                                 language_model::Architecture architecture,
                                                 std::int64_t context) {
  language_model::LanguageModelConfig config;
  const bool is_llama = architecture == language_model::Architecture::llama;
  config.architecture = architecture;
  config.vocabulary = vocabulary;
  config.positions = context;
  config.width = size.width;
  config.layers = size.layers;
  config.heads = config.heads_kv = size.heads;
  config.head_width = size.width / size.heads;
  config.inner = size.inner;
  config.norm_eps = is_llama ? 1e-6 : 1e-5;
  config.tied = false;
  config.check();
  return config;
}

}  // namespace precast::timing

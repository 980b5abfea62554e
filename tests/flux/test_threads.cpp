// The same bits for any number of threads.
#include <cmath>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <flux/model_folder.hpp>
#include <flux/models.hpp>
#include <support/arrays.hpp>
#include <support/golden.hpp>
#include <support/golden_requests.hpp>
#include <support/random_model.hpp>

#include <precast/host/runtime/parallel.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

template <class Run>
auto with_threads(int count, Run&& run) {
  const Threads threads(count);
  return run();
}

/// Whether `run`, which returns a Tensor<f32>, gives the same bits on one, two and five threads.
template <class Run>
void check_threads(Run&& run) {
  const Tensor<f32> one = with_threads(1, run);
  CHECK(relative_error(one.values(), one.values()) == 0);  // finite, and not all zero
  CHECK(same_bits(with_threads(2, run), one));
  CHECK(same_bits(with_threads(5, run), one));
}

Tensor<f32> ramp(const Shape& shape) {
  Tensor<f32> values(shape);
  for (std::int64_t i = 0; i < values.elements(); ++i)
    values.data()[i] = static_cast<f32>(std::sin(0.37 * static_cast<double>(i % 9973)));
  return values;
}

}  // namespace

TEST_CASE("a whole run has the same bits on any number of threads, under every policy", "[many_runs]") {
  for (const char* folder : {"dev_f32", "dev_f16"})
    for (const PolicyChoice& choice : compiled_choices()) {
      INFO(folder << " under " << to_string(choice));
      const Golden golden(folder);
      const auto pipeline = open_golden(folder, choice);
      const auto run = [&](int threads) {
        return with_threads(threads, [&] { return pipeline.generate(request_of(golden)); });
      };
      const flux::Result one = run(1), two = run(2);
      CHECK(same_bits(two.latents, one.latents));
      CHECK(two.images[0].rgb == one.images[0].rgb);
    }
}

// The golden folders are too small for work to be cut in many places; these sizes are not.
TEST_CASE("larger components have the same bits on any number of threads, under every policy",
          "[many_runs]") {
  flux::TransformerConfig transformer;
  transformer.num_layers = 1;
  transformer.num_single_layers = 1;
  transformer.num_attention_heads = 3;
  transformer.joint_attention_dim = 96;
  transformer.pooled_projection_dim = 64;
  transformer.guidance_embeds = true;
  text::T5Config t5;
  t5.vocab_size = 100;
  t5.d_model = 192;
  t5.d_ff = 320;
  t5.num_layers = 1;
  t5.num_heads = 5;
  vae::AutoencoderConfig vae;
  vae.latent_channels = 16;
  vae.block_out_channels = {32, 64, 96};
  vae.norm_num_groups = 16;
  const RandomSource<bf16> of_transformer(tensors_of(transformer)), of_t5(tensors_of(t5)),
      of_vae(tensors_of(vae));

  std::vector<std::int32_t> ids(160);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * 7 % 100);
  const Tensor<f32> latents = ramp({18 * 20, 64}), prompt = ramp({75, 96}), pooled = ramp({1, 64});
  const Tensor<f32> packed = ramp({1, 18, 20, 16}), pixels = ramp({1, 72, 80, 3});
  flux::TransformerInput input{latents, prompt, pooled, 0.61f, 3.5f, 18, 20};

  for (const PolicyChoice& choice : compiled_choices()) {
    INFO(to_string(choice));
    // Weights are packed in parallel too, so each number of threads loads for itself.
    check_threads([&] {
      return flux::models_of(families::cpu_backend(), choice)
          .transformer(transformer, of_transformer)
          ->velocity(input);
    });
    check_threads(
        [&] { return flux::models_of(families::cpu_backend(), choice).t5(t5, of_t5)->encode(ids); });
    check_threads([&] {
      return flux::models_of(families::cpu_backend(), choice).decoder(vae, of_vae)->decode(packed);
    });
    check_threads([&] {
      return flux::models_of(families::cpu_backend(), choice).encoder(vae, of_vae)->encode(pixels).mean;
    });
  }
  CHECK(of_transformer.all_taken());
  CHECK(of_t5.all_taken());
  CHECK(of_vae.all_taken());
}

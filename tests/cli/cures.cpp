// The cures of a trace as the command line spells them: the lines that users and scripts read.
#include <initializer_list>
#include <limits>
#include <utility>

#include <catch2/catch.hpp>
#include <cli/running/cure_option.hpp>

#include <precast/watch/trace.hpp>

using namespace precast;

namespace {

watch::NonFinite found(std::string_view op, std::string_view inside, double in_f32, double largest_inside) {
  const watch::OpRecord record{.path = "vae.attn",
                               .function = "attention",
                               .op = op,
                               .dtypes = {"f16", "f16", "f32", inside, "f16"},
                               .shape = Shape{4, 8},
                               .max_abs = 12,
                               .nans = 2};
  return {record, 19, std::numeric_limits<double>::quiet_NaN(), in_f32, largest_inside, 65504};
}

}  // namespace

TEST_CASE("a diagnosis names the options of the command line") {
  CHECK(
      cli::diagnosis(found("Attention", "f16", 1.25, 91234)) ==
      "first non-finite value: nan at [2, 3] of vae.attn (attention, Attention); f32 has 1.25 there: f16 can "
      "hold that, but the op overflows on the way, where values reach 91234 and f16 ends at 65504: "
      "--upcast-attention cures it, and so does --flash");
  CHECK(cli::diagnosis(found("Conv", "", 70000, 0)) ==
        "first non-finite value: nan at [2, 3] of vae.attn (attention, Conv); f32 has 70000 there: above the "
        "largest f16, 65504, which no upcast changes: --vae-precision bf16 cures it, and so does a policy "
        "with Overflow<Saturate> in C++");
  CHECK(cli::diagnosis(found("Conv", "", 1.25, 0)) ==
        "first non-finite value: nan at [2, 3] of vae.attn (attention, Conv); f32 has 1.25 there: f16 can "
        "hold that, "
        "but the op overflows on the way: --upcast-conv cures it");
  CHECK(cli::option_of(watch::Cure::upcast_matmul) == "--upcast-matmul");
  CHECK(cli::option_of(watch::Cure::store_f32) == "--precision f32");
  CHECK(cli::option_of(watch::Cure::none).empty());
  for (const auto& [path, option] : std::initializer_list<std::pair<const char*, const char*>>{
           {"unet.conv_in", "--unet-precision bf16"},
           {"transformer.proj_out", "--transformer-precision bf16"},
           {"text_encoder_2.encoder.block.0", "--text-precision bf16"},
           {"refiner.unet.conv_in", "--unet-precision bf16"},
           {"text_encoder.layers.0", "--text-precision bf16"},
           {"vaer.conv", "--precision bf16"}})
    CHECK(cli::option_of(watch::Cure::store_bf16, path) == option);
}

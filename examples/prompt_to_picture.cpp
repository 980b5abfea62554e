// From a prompt to a PNG in C++: example_prompt_to_picture [MODEL [PROMPT [OUTPUT]]]
// ./dev build makes it; PRECAST_SHAPES_MODEL is the bundled model's folder, from examples/CMakeLists.txt.
#include <cstdio>
#include <exception>

#include <flux/pipeline.hpp>
#include <image/picture_file.hpp>

int main(int argc, char** argv) try {
  using namespace precast;
  const char* model = argc > 1 ? argv[1] : PRECAST_SHAPES_MODEL;

  // Each component under a policy of its own: the transformer in bf16, what comes before and after it in f32.
  using Mix = Mixed<Transformer<presets::Fast>, TextEncoder<presets::Quality>, Vae<presets::Quality>>;
  const flux::FluxPipeline pipeline(model, flux::choices_of<Mix>());

  flux::Request request;
  request.prompts = {argc > 2 ? argv[2] : "a small yellow star on a purple background, in the center"};
  request.seed = 7;
  const auto result = pipeline.generate(request, [](const flux::Progress& progress) {
    std::fprintf(stderr, "%.*s %lld/%lld\n", static_cast<int>(progress.stage.size()), progress.stage.data(),
                 static_cast<long long>(progress.done), static_cast<long long>(progress.total));
  });

  const char* output = argc > 3 ? argv[3] : "picture.png";
  image::write_image(output, result.images.at(0));
  std::printf("%s: %dx%d\n", output, result.images[0].width, result.images[0].height);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

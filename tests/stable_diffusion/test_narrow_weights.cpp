// Models whose files hold narrower weights than an f32 policy: they stay narrow in memory, and draw what the
// same values draw in f32, bit for bit.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include <catch2/catch.hpp>
#include <support/golden.hpp>
#include <support/stable_diffusion_requests.hpp>
#include <support/temporary_folder.hpp>
#include <weights/files.hpp>

using namespace precast;
using namespace precast::testing;
namespace fs = std::filesystem;

namespace {

/// A folder whose weights are widened to f32.
fs::path widened_copy(const fs::path& folder, const fs::path& place) {
  const fs::path copy = place / "model";
  fs::copy(folder, copy, fs::copy_options::recursive);
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    FileTensors tensors;
    const io::ComponentSource source(entry.path());
    for (const io::TensorEntry* tensor : source.tensors()) {
      const FileTensor narrow{std::string(tensor->dtype.file_name),
                              tensor->shape,
                              {reinterpret_cast<const char*>(tensor->bytes.data()), tensor->bytes.size()}};
      tensors[tensor->name] = file_tensor("F32", narrow.shape, values_in(narrow));
    }
    write_tensors(copy / fs::relative(entry.path(), folder), tensors);
  }
  return copy;
}

}  // namespace

TEST_CASE("weights that are narrower than f32 draw what they draw widened, in less memory") {
  const Golden golden("stable_diffusion");
  const std::map<std::string, std::string> runs{{"sd21", "sd21_txt2img_own"},
                                                {"sdxl", "sdxl_txt2img_own"},
                                                {"refiner", "refiner_img2img_own"},
                                                {"inpaint", "inpaint_inpaint_own"},
                                                {"lcm", "lcm_txt2img_own"}};
  const nlohmann::json cases = stable_diffusion_cases();
  for (const auto& [name, run] : runs) {
    const TemporaryFolder place;
    const fs::path narrow = stable_diffusion_model(name), wide = widened_copy(narrow, place.path());
    const families::Request request = request_of(golden, cases.at(run));
    for (const PolicyChoice& choice : choices_in<f32>()) {
      INFO(run << " under " << to_string(choice));
      const auto choices = families::ComponentChoices::all(choice);
      const stable_diffusion::StableDiffusionPipeline of_narrow(narrow, choices), of_wide(wide, choices);
      const families::Result drawn = of_narrow.generate(request), expected = of_wide.generate(request);
      CHECK(std::ranges::equal(drawn.latents.values(), expected.latents.values()));
      CHECK(drawn.images.front().rgb == expected.images.front().rgb);
      CHECK(of_narrow.estimate(request).needed() < of_wide.estimate(request).needed());
    }
  }
}

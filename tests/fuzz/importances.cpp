// What importance matrices are read from: GGUF, and the older format, which has no head.
#include <algorithm>
#include <array>
#include <string>

#include <convert/importance.hpp>
#include <fuzz/input_file.hpp>
#include <fuzz/target.hpp>

namespace precast::testing {

void fuzz_importance(std::span<const std::byte> input) {
  const InputFile file(input);
  answer_or_refusal([&] {
    const conversion::Importance importance(file.path());
    if (importance.fingerprint() != conversion::Importance(file.path()).fingerprint())
      throw std::logic_error("an importance reads differently the second time");
    constexpr std::int64_t columns = 4;  // of the seeds
    for (const std::string name : {"single_transformer_blocks.0.proj_out.weight", "img_in.weight"})
      answer_or_refusal([&] {
        const auto found = importance.of_parameter(name, columns);
        if (!found.empty() && std::ssize(found) != columns)
          throw std::logic_error("an importance has another number of columns");
        if (std::ranges::any_of(found, [](f32 square) { return !(square >= 0); }))
          throw std::logic_error("a mean square is none");
      });
  });
}

}  // namespace precast::testing

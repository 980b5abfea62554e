// libFuzzer's entries for one target, PRECAST_FUZZ_TARGET. Where the environment names a folder
// PRECAST_FUZZ_SEEDS, the inputs to start from are written there first.
#include <cstdint>
#include <cstdlib>

#include <fuzz/target.hpp>
#include <support/temporary_folder.hpp>

using precast::testing::find_fuzz_target;

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* folder = std::getenv("PRECAST_FUZZ_SEEDS")) {
    int number = 0;
    for (const std::string& seed : find_fuzz_target(PRECAST_FUZZ_TARGET)->seeds())
      precast::testing::write_text(std::filesystem::path(folder) / ("seed" + std::to_string(number++)), seed);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto* const target = find_fuzz_target(PRECAST_FUZZ_TARGET);
  target->read({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}

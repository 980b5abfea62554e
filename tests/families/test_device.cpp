// Which of several CUDA devices "auto" takes, and what it says of those before it.
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <families/backend.hpp>
#include <families/device.hpp>

using namespace precast;

namespace {

/// Devices of which those in `usable` have a backend; each that was asked for is written down.
struct Devices {
  std::vector<bool> usable;
  std::vector<int> asked = {};

  families::ChosenDevice choose() {
    return families::first_usable_device(static_cast<int>(usable.size()), [this](int number) {
      asked.push_back(number);
      const std::string name = "device " + std::to_string(number);
      if (number < static_cast<int>(usable.size()) && usable[static_cast<std::size_t>(number)])
        return families::ChosenDevice{&families::cpu_backend(), name, "it is the fastest here", true};
      return families::ChosenDevice{nullptr, {}, name + " is too old", false};
    });
  }
};

}  // namespace

TEST_CASE("auto takes the first CUDA device that can be used, and says why others were passed over") {
  Devices first{{true, true}};
  CHECK(first.choose().name == "device 0");
  CHECK(first.choose().reason == "it is the fastest here");
  CHECK(first.asked == std::vector<int>{0, 0});

  Devices third{{false, false, true, true}};
  const families::ChosenDevice found = third.choose();
  CHECK(found.name == "device 2");
  CHECK(found.is_cuda);
  CHECK(found.reason == "it is the first that can be used: device 0 is too old; device 1 is too old");
  CHECK(third.asked == std::vector<int>{0, 1, 2});
}

TEST_CASE("where no CUDA device can be used there is none, with the reason of each") {
  Devices none{{false, false}};
  const families::ChosenDevice found = none.choose();
  CHECK(found.backend == nullptr);
  CHECK_FALSE(found.is_cuda);
  CHECK(found.reason == "device 0 is too old; device 1 is too old");

  Devices no_driver;
  CHECK(no_driver.choose().reason == "device 0 is too old");
  CHECK(no_driver.asked == std::vector<int>{0});
}

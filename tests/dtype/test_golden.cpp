// Scalar formats against numpy and ml_dtypes: tests/golden/README.md says what formats.safetensors holds.
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <dtype/all_formats.hpp>
#include <nlohmann/json.hpp>

using namespace precast;

namespace {

/// The few lines of safetensors that this needs; io/ is tested elsewhere, and reads floating-point tensors
/// only.
class Golden {
 public:
  Golden() {
    std::ifstream file(PRECAST_SOURCE_DIR "/tests/golden/expected/formats.safetensors", std::ios::binary);
    text_.assign(std::istreambuf_iterator<char>(file), {});
    REQUIRE(text_.size() > 8);
    std::uint64_t length = 0;
    std::memcpy(&length, text_.data(), 8);
    header_ = nlohmann::json::parse(text_.substr(8, length));
    data_ = 8 + length;
  }

  template <class T>
  std::vector<T> tensor(const std::string& name) const {
    const auto offsets = header_.at(name).at("data_offsets");
    const std::size_t begin = offsets[0], end = offsets[1];
    std::vector<T> values((end - begin) / sizeof(T));
    std::memcpy(values.data(), text_.data() + data_ + begin, end - begin);
    REQUIRE(!values.empty());
    return values;
  }
  std::string metadata(const std::string& key) const { return header_.at("__metadata__").at(key); }

 private:
  std::string text_;
  nlohmann::json header_;
  std::size_t data_ = 0;
};

template <class T>
std::string name_of() {
  return std::string(dtype_traits<T>::name);
}

template <class T, class Code>
void check_rounding(const Golden& golden, int shift = 0) {
  const auto inputs = golden.tensor<double>("round.input");
  const auto codes = golden.tensor<Code>("round." + name_of<T>());
  REQUIRE(codes.size() == inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::uint32_t ours = code_of(from_double<T>(inputs[i])) << shift;
    if (ours == codes[i]) continue;
    INFO(name_of<T>() << " of " << inputs[i]);
    CHECK(ours == codes[i]);
  }
}

/// FNV-1a over the f32 bits of all 65,536 values, every NaN taken as 0x7fc00000.
template <class T>
std::string checksum_of_all_values() {
  std::uint64_t sum = 0xcbf29ce484222325u;
  for_each_code<T>([&](std::uint32_t code) {
    const f32 value = convert<f32>(value_of<T>(code));
    std::uint32_t bits = std::isnan(value) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(value);
    for (int byte = 0; byte < 4; ++byte, bits >>= 8) sum = (sum ^ (bits & 0xff)) * 0x100000001b3u;
  });
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(sum));
  return text;
}

}  // namespace

TEST_CASE("doubles round as numpy and ml_dtypes round them") {
  const Golden golden;
  check_rounding<f32, std::uint32_t>(golden);
  check_rounding<tf32, std::uint32_t>(golden, 13);
  check_rounding<bf16, std::uint16_t>(golden);
  check_rounding<f16, std::uint16_t>(golden);
  check_rounding<fp8_e4m3, std::uint8_t>(golden);
  check_rounding<fp8_e5m2, std::uint8_t>(golden);
}

TEST_CASE("all codes have the values that ml_dtypes gives them") {
  const Golden golden;
  CHECK(checksum_of_all_values<bf16>() == golden.metadata("bf16.fnv1a"));
  CHECK(checksum_of_all_values<f16>() == golden.metadata("f16.fnv1a"));
  const auto check_all = [&]<class T>(std::type_identity<T>, const std::vector<std::uint16_t>& codes) {
    const auto values = golden.tensor<double>(name_of<T>() + ".values");
    REQUIRE(values.size() == codes.size());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      INFO(name_of<T>() << " code " << codes[i]);
      CHECK(same_number(to_double(value_of<T>(codes[i])), values[i]));
    }
  };
  std::vector<std::uint16_t> bytes(256);
  for (std::uint16_t i = 0; i < 256; ++i) bytes[i] = i;
  check_all(std::type_identity<fp8_e4m3>{}, bytes);
  check_all(std::type_identity<fp8_e5m2>{}, bytes);
  check_all(std::type_identity<bf16>{}, golden.tensor<std::uint16_t>("bf16.codes"));
  check_all(std::type_identity<f16>{}, golden.tensor<std::uint16_t>("f16.codes"));
}

TEST_CASE("the formats are the ones that the golden data was made for") {
  const auto facts = nlohmann::json::parse(Golden().metadata("formats"));
  for_each_scalar([&]<class T>() {
    constexpr FloatFormat format = dtype_traits<T>::format;
    const auto& theirs = facts.at(name_of<T>());
    INFO(name_of<T>());
    CHECK(theirs.at("exponent_bits") == format.exponent_bits);
    CHECK(theirs.at("mantissa_bits") == format.mantissa_bits);
    CHECK(theirs.at("bias") == format.bias());
    CHECK(theirs.at("infinity") == (format.specials == Specials::infinity_and_nan));
    CHECK(theirs.at("largest") == format.max());
  });
}

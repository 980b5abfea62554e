// precast formats: the properties of the number formats, or how each of them encodes given numbers.
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cli/commands.hpp>
#include <cli/options/arguments.hpp>
#include <cli/terminal/output.hpp>
#include <formats/registry.hpp>

#include <precast/dtype/blocks/small_float_blocks.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/io/gguf_types.hpp>

namespace precast::cli {

namespace {

/// Calls `visitor(name, format)` for every scalar dtype, widest first, then for the element formats of
/// blocks, then for added scalars.
template <class Visitor>
void for_each_format(Visitor&& visitor) {
  const auto visit = [&]<class T>() {
    visitor(dtype_traits<T>::name, dtype_traits<T>::format);
    return false;
  };
  any_dtype(ScalarDtypes{}, visit);
  any_dtype(BlockElements{}, visit);
  for (const formats::StoredFormat& added : formats::added_formats())
    if (added.scalar) visitor(added.name, *added.scalar);
}

std::string_view kind_name(ValueKind kind) {
  switch (kind) {
    case ValueKind::zero:
      return "zero";
    case ValueKind::subnormal:
      return "subnormal";
    case ValueKind::normal:
      return "normal";
    case ValueKind::infinity:
      return "infinity";
    case ValueKind::nan:
      return "nan";
  }
  return {};
}

/// A number as a format encodes it.
struct Encoded {
  std::uint32_t code;
  ValueKind kind;
  int exponent;     ///< of two, unbiased; if the kind has one
  double mantissa;  ///< in [1, 2), or in [0, 1) for a subnormal: the value is mantissa x 2^exponent
  double value, ulp, error;
  bool finite() const { return kind != ValueKind::infinity && kind != ValueKind::nan; }
  bool has_exponent() const { return kind == ValueKind::normal || kind == ValueKind::subnormal; }
};

Encoded encoded(const FloatFormat& format, double input) {
  Encoded result{};
  result.code = format.encode(input);
  result.kind = format.kind(result.code);
  result.value = format.decode(result.code);
  result.ulp = format.ulp(input);
  const bool held = result.value == input || (std::isnan(result.value) && std::isnan(input));
  result.error = held ? 0 : result.value - input;  // inf - inf would be NaN
  if (result.has_exponent()) {
    const int field = format.exponent_field(result.code);
    result.exponent = field ? field - format.bias() : format.min_exponent();
    result.mantissa = (result.value < 0 ? -result.value : result.value) / power_of_two(result.exponent);
  }
  return result;
}

std::string hexadecimal(std::uint32_t code, int bits) {
  std::string digits;
  for (int shift = (bits - 1) / 4 * 4; shift >= 0; shift -= 4)
    digits += "0123456789abcdef"[(code >> shift) & 15u];
  return "0x" + digits;
}

/// "0 01111111 0000000": sign, exponent, mantissa.
std::string binary(std::uint32_t code, const FloatFormat& format) {
  std::string digits;
  for (int bit = format.bits() - 1; bit >= 0; --bit) {
    digits += (code >> bit) & 1u ? '1' : '0';
    if (bit == format.bits() - 1 || bit == format.mantissa_bits) digits += ' ';
  }
  return digits;
}

Json facts() {
  Json all;
  for_each_format([&](std::string_view name, const FloatFormat& format) {
    all[std::string(name)] = {{"bits", format.bits()},
                              {"exponent_bits", format.exponent_bits},
                              {"mantissa_bits", format.mantissa_bits},
                              {"bias", format.bias()},
                              {"eps", format.eps()},
                              {"min_normal", format.min_normal()},
                              {"min_subnormal", format.min_subnormal()},
                              {"max", format.max()},
                              {"decimal_digits", format.decimal_digits()},
                              {"infinity", format.specials == Specials::infinity_and_nan},
                              {"nan", format.specials != Specials::none}};
  });
  return all;
}

std::string facts_table() {
  std::vector<std::vector<std::string>> rows{{"format", "bits", "exponent", "mantissa", "bias", "eps",
                                              "min normal", "min subnormal", "max", "digits", "infinity"}};
  for_each_format([&](std::string_view name, const FloatFormat& format) {
    rows.push_back({std::string(name), std::to_string(format.bits()), std::to_string(format.exponent_bits),
                    std::to_string(format.mantissa_bits), std::to_string(format.bias()),
                    shortest(format.eps()), shortest(format.min_normal()), shortest(format.min_subnormal()),
                    shortest(format.max()), std::to_string(format.decimal_digits()),
                    format.specials == Specials::infinity_and_nan ? "yes" : "no"});
  });
  return aligned(rows, "lr");
}

/// Calls `visitor(format, its type number in GGUF or nothing)` for every block and row format.
template <class Visitor>
void for_each_block_format(Visitor&& visitor) {
  for (const formats::StoredFormat& format : formats::all_formats()) {
    if (format.info.values_per_block == 1) continue;
    const io::GgufType* const in_gguf = io::gguf_type(format.name);
    visitor(format, in_gguf ? std::optional(in_gguf->number) : std::nullopt);
  }
}

Json block_facts() {
  Json all;
  for_each_block_format([&](const formats::StoredFormat& format, std::optional<std::uint32_t> gguf) {
    Json& facts = all[format.name] = {
        {"bits", format.bits}, {"values", nullptr}, {"bytes", nullptr}, {"gguf_type", nullptr}};
    if (!format.of_rows)
      facts["values"] = format.info.values_per_block, facts["bytes"] = format.info.bytes_per_block;
    if (gguf) facts["gguf_type"] = *gguf;
  });
  return all;
}

std::string block_table() {
  std::vector<std::vector<std::string>> rows{{"blocks", "bits a value", "values", "bytes", "GGUF type"}};
  for_each_block_format([&](const formats::StoredFormat& format, std::optional<std::uint32_t> gguf) {
    rows.push_back({format.name, shortest(format.bits),
                    format.of_rows ? "a row" : std::to_string(format.info.values_per_block),
                    format.of_rows ? "–" : std::to_string(format.info.bytes_per_block),
                    gguf ? std::to_string(*gguf) : "–"});
  });
  return aligned(rows, "lr");
}

Json number_json(double input) {
  Json number{{"input", json_number(input)}};
  for_each_format([&](std::string_view name, const FloatFormat& format) {
    const Encoded result = encoded(format, input);
    number[std::string(name)] = {{"value", json_number(result.value)},
                                 {"bits", hexadecimal(result.code, format.bits())},
                                 {"kind", kind_name(result.kind)},
                                 {"exponent", result.has_exponent() ? Json(result.exponent) : Json()},
                                 {"mantissa", result.has_exponent() ? Json(result.mantissa) : Json()},
                                 {"ulp", json_number(result.ulp)},
                                 {"error", json_number(result.error)}};
  });
  return number;
}

std::string number_table(const std::string& text, double input) {
  std::vector<std::vector<std::string>> rows{
      {"format", "bits", "sign exponent mantissa", "kind", "value", "exponent", "mantissa", "ulp", "error"}};
  for_each_format([&](std::string_view name, const FloatFormat& format) {
    const Encoded result = encoded(format, input);
    rows.push_back({std::string(name), hexadecimal(result.code, format.bits()), binary(result.code, format),
                    std::string(kind_name(result.kind)), shortest(result.value),
                    result.has_exponent() ? std::to_string(result.exponent) : "–",
                    result.has_exponent() ? shortest(result.mantissa) : "–",
                    result.finite() ? shortest(result.ulp) : "–", shortest(result.error)});
  });
  const bool hexadecimal_digits = text.find_first_of("xX") != std::string::npos;
  return text + (hexadecimal_digits ? " = " + shortest(input) : "") + "\n" + aligned(rows);
}

}  // namespace

void add_formats_command(CLI::App& app) {
  struct Options {
    std::vector<std::string> numbers;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "formats", "The facts of the number formats, or what each of them makes of the numbers given");
  command
      ->add_option(
          "number", options->numbers,
          "Numbers: decimal, hexadecimal (0x1.8p3), inf or nan, either sign. Each is read as a double\n"
          "and rounded once, to nearest, ties to even")
      ->type_name("X");
  command->add_flag("--json", options->json, "JSON on stdout");
  command->footer(
      "Examples:\n"
      "  precast formats                      # a table of bits, range and precision\n"
      "  precast formats 0.1 65520 -1e-7      # where f16 ends, and what is lost on the way\n"
      "  precast formats --json -inf nan      # for machines");
  command->callback([options] {
    if (options->numbers.empty()) {
      if (options->json)
        print(Json{{"formats", facts()}, {"blocks", block_facts()}});
      else
        print(facts_table() + "\n" + block_table());
      return;
    }
    Json numbers = Json::array();
    std::string text;
    for (const std::string& number : options->numbers) {
      const double input = parse_double(number);
      if (options->json)
        numbers.push_back(number_json(input));
      else
        text += (text.empty() ? "" : "\n") + number_table(number, input);
    }
    if (options->json)
      print(Json{{"numbers", numbers}});
    else
      print(text);
  });
}

}  // namespace precast::cli

// The names of precisions, presets, paths, block formats and policies of training as text, for CMake:
// PrecastPaths.cmake compiles this and reads the text out of the program, which need not run on this machine.
#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#define PRECAST_LINK_KERNELS 1  // no kernel is called
#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/host/blocks/block_decoder.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy_path.hpp>
#include <precast/policy/presets.hpp>
#include <precast/policy/training_policies.hpp>

namespace {

constexpr auto path_choices = precast::choices_where([](const precast::PolicyChoice&) { return true; });

/// "bf16_upcast_matmul:f32 "
template <class T, class Put>
constexpr void put_dtype(const precast::PolicyChoice& path, Put&& put) {
  spell_path(path, put);
  put(":");
  put(precast::dtype_name<T>());
  put(" ");
}

/// What linear layers of each path multiply.
template <std::size_t... I, class Put>
constexpr void put_operands(std::index_sequence<I...>, Put&& put) {
  (put_dtype<typename precast::precisions<typename precast::PolicyPath<path_choices[I]>::policy,
                                          precast::Matmul>::operand>(path_choices[I], put),
   ...);
}

/// What the host decodes blocks to in each path.
template <std::size_t... I, class Put>
constexpr void put_decoded(std::index_sequence<I...>, Put&& put) {
  const auto put_one = [&]<std::size_t Place>(std::integral_constant<std::size_t, Place>) {
    using Policy = typename precast::PolicyPath<path_choices[Place]>::policy;
    put_dtype<precast::f32>(path_choices[Place], put);
    if constexpr (precast::host::decodes_to_bf16<precast::precisions<Policy, precast::Matmul>>)
      put_dtype<precast::bf16>(path_choices[Place], put);
  };
  (put_one(std::integral_constant<std::size_t, I>{}), ...);
}

/// precast_all_presets=quality:f32:f32 … (preset, path, precision), each list on a line of its own.
template <class Put>
constexpr void write_lists(Put&& put) {
  using precast::PolicyChoice;
  const auto path = [&](const PolicyChoice& choice) {
    spell_path(choice, put);
    put(":");
    put(to_string(choice.precision));
    put(" ");
  };
  put("precast_all_precisions=");
  for (const std::string_view name : precast::precision_names) {
    put(name);
    put(" ");
  }
  put("\nprecast_all_paths=");
  precast::for_each_choice(path);
  put("\nprecast_all_product_operands=");
  put_operands(std::make_index_sequence<path_choices.size()>(), put);
  put("\nprecast_all_decoded_dtypes=");
  put_decoded(std::make_index_sequence<path_choices.size()>(), put);
  put("\nprecast_all_presets=");
  for (const precast::NamedPreset& preset : precast::named_presets) {
    put(preset.name);
    put(":");
    path(preset.choice.normalised());
  }
  put("\nprecast_all_block_formats=");
  for (const precast::BlockFormat& format : precast::block_formats) {
    put(format.info.name);
    put(" ");
  }
  precast::any_scaled_row_dtype([&]<class Format>(std::type_identity<Format>) {
    put(precast::dtype_traits<Format>::name);
    put(" ");
    return false;
  });
  // The precisions that a policy of training takes: "amp-f16:f32,f16".
  put("\nprecast_all_training_policies=");
  precast::for_each_training_policy([&]<class P>(const precast::TrainingChoice& choice) {
    precast::spell_training_choice(choice, put);
    std::string_view before = ":";
    for (const std::string_view precision : precast::precision_names)
      if (precision == precast::dtype_name<typename P::storage>() ||
          precision == precast::dtype_name<typename P::compute>() ||
          precision == precast::dtype_name<typename P::activation>()) {
        put(before);
        put(precision);
        before = ",";
      }
    put(" ");
  });
  put("\nprecast_default_training_policies=");
  for (const std::string_view name : precast::default_training_policies) {
    put(name);
    put(" ");
  }
  put("\n");
}

constexpr std::size_t size = [] {
  std::size_t count = 0;
  write_lists([&](std::string_view part) { count += part.size(); });
  return count;
}();

constexpr std::array<char, size + 1> text = [] {
  std::array<char, size + 1> written{};
  std::size_t at = 0;
  write_lists([&](std::string_view part) {
    for (const char character : part) written[at++] = character;
  });
  return written;
}();

}  // namespace

// Nobody runs it: that it could print any of the text is what keeps the text in the program.
int main(int count, char**) { return text[static_cast<std::size_t>(count) % size]; }

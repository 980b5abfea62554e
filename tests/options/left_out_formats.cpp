// A build that leaves block formats out refuses weights in them, and names the option. A program of its own:
// which formats there are is one fact for a whole program.
#undef PRECAST_QUANT_NAMES
#define PRECAST_QUANT_NAMES "q4_k,mxfp8"

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <precast/error.hpp>
#include <precast/host/blocks/block_decoding.hpp>
#include <precast/nn/parameters.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>
#include <precast/quant/by_name.hpp>

using namespace precast;

namespace {

using Types = precisions<Policy<Storage<bf16>>, Matmul>;

int failed(std::string_view what) {
  std::fprintf(stderr, "%s\n", std::string(what).c_str());
  return 1;
}

/// Whether what reads weights in a format names the option that it takes.
template <class Read>
bool refused(std::string_view format, Read&& read) {
  try {
    read();
    failed(std::string(format) + " was left out, and is there");
    return false;
  } catch (const PathNotCompiled& error) {
    const std::string message = error.what();
    if (message.find("-DPRECAST_QUANT=" + std::string(format)) != message.npos) return true;
    failed("the error does not name the option: " + message);
    return false;
  }
}

}  // namespace

int main() {
  static_assert(block_format_compiled("q4_k") && block_format_compiled("mxfp8"));
  static_assert(!block_format_compiled("q8_0") && !block_format_compiled("mxfp4") &&
                !block_format_compiled("4_k") && !block_format_compiled("q4"));
  if (!host::block_decoder<Types>(dtype_info<q4_k>).to_bf16) return failed("q4_k is not there");
  for (const BlockFormat& format : block_formats) {
    if (block_format_compiled(format.info.name)) continue;
    const std::vector<std::byte> block(static_cast<std::size_t>(format.info.bytes_per_block));
    std::vector<f32> values(static_cast<std::size_t>(format.info.values_per_block));
    const nn::AbsentParameters source;
    const nn::Parameter parameter{format.info, Shape{format.info.values_per_block}, block};
    if (!refused(format.info.name, [&] { host::block_decoder<Types>(format.info); }) ||
        !refused(format.info.name, [&] { quant::decode(format.info.name, block, values); }) ||
        !refused(format.info.name,
                 [&] { nn::read_values<f32>(nn::ParameterPath(source), parameter, 0, std::span(values)); }))
      return 1;
  }
  return 0;
}

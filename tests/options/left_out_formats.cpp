// A build that leaves block formats out refuses weights in them, and names the option. A program of its own:
// which formats there are is one fact for a whole program.
#undef PRECAST_QUANT_NAMES
#define PRECAST_QUANT_NAMES "q4_k,mxfp8"

#include <cstdio>
#include <string>
#include <string_view>

#include <precast/error.hpp>
#include <precast/host/block_decoding.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>

using namespace precast;

namespace {

using Types = precisions<Policy<Storage<bf16>>, Matmul>;

int failed(std::string_view what) {
  std::fprintf(stderr, "%s\n", std::string(what).c_str());
  return 1;
}

}  // namespace

int main() {
  static_assert(block_format_compiled("q4_k") && block_format_compiled("mxfp8"));
  static_assert(!block_format_compiled("q8_0") && !block_format_compiled("mxfp4") &&
                !block_format_compiled("4_k") && !block_format_compiled("q4"));
  if (!host::block_decoder<Types>(dtype_info<q4_k>).to_bf16) return failed("q4_k is not there");
  for (const BlockFormat& format : block_formats) {
    if (block_format_compiled(format.info.name)) continue;
    try {
      host::block_decoder<Types>(format.info);
      return failed(std::string(format.info.name) + " was left out, and is there");
    } catch (const PathNotCompiled& error) {
      const std::string message = error.what();
      if (message.find("-DPRECAST_QUANT=" + std::string(format.info.name)) == message.npos)
        return failed("the error does not name the option: " + message);
    }
  }
  return 0;
}

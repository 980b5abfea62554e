// A double block of Flux at full width whose linear weights are in blocks of a file, in turn with the same
// block in bf16: 3072 wide, 256 image and 512 text tokens.
//
// Floor: the bf16 block's own time (flux_blocks.cpp), and what it takes to decode 340 M values once for each
// block of rows: 0.12 to 0.18 ns of a thread's time for each, 25 to 60 ms on two threads.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <common/flux_parts.hpp>
#include <common/model_work.hpp>
#include <flux/transformer_blocks.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/policy/quant_formats.hpp>

namespace precast::bench {
namespace {

/// The tensors of another source, whose matrices are random codes of a block format.
class RandomBlocks final : public nn::ParameterSource {
 public:
  RandomBlocks(const nn::ParameterSource& source, const DtypeInfo& format)
      : source_(source), format_(format) {}

  bool contains(std::string_view name) const override { return source_.contains(name); }
  nn::Parameter find(std::string_view name) const override {
    nn::Parameter found = source_.find(name);
    if (found.shape.rank() != 2) return found;
    const auto bytes =
        static_cast<std::size_t>(found.shape.elements() / format_.values_per_block * format_.bytes_per_block);
    // Below 32, so that scales are small numbers.
    for (std::uint32_t state = 1; bytes_.size() < bytes;)
      bytes_.push_back(static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 27));
    return {format_, found.shape, std::span<const std::byte>(bytes_).first(bytes)};
  }
  std::string description() const override { return "random blocks"; }
  void taken(std::size_t) const override {}

 private:
  const nn::ParameterSource& source_;
  DtypeInfo format_;
  mutable std::vector<std::byte> bytes_;
};

void run_block(benchmark::State& state, const DtypeInfo& format) {
  using P = Bf16;
  flux::TransformerConfig config;
  config.num_layers = 1;
  config.num_single_layers = 0;
  const std::string prefix = "transformer_blocks.0";
  const Tokens tokens{512, 256};
  const testing::RandomSource<bf16> source(tensors_under(prefix, config));
  const RotaryTable rotary = positions(config, tokens);
  const Tensor<bf16> conditioning = random_tensor<bf16>({1, config.inner_dim()});
  const Tensor<bf16> start = random_tensor<bf16>({tokens.all(), config.inner_dim()});
  const flux::BlockContext<P> context{conditioning, rotary, 512};
  const flux::DoubleBlock<P> dense(nn::Parameters(source) / prefix, config);
  const RandomBlocks blocks(source, format);
  const flux::DoubleBlock<P> packed(nn::Parameters(blocks) / prefix, config);
  const auto run = [&](const flux::DoubleBlock<P>& block) {
    return [&] {
      Tensor<bf16> x = start.clone();
      block(x, context);
      benchmark::DoNotOptimize(x.data());
    };
  };
  const InTurn times = measure_in_turn(state, run(packed), run(dense));
  state.counters["share_of_bf16"] = times.reference_over_work;
}

const bool added = [] {
  for (const char* name : {"q8_0", "q4_k", "q4_0"})
    if (block_format_compiled(name))
      visit_block_format(name, [&]<class Format>(std::type_identity<Format>) {
        benchmark::RegisterBenchmark(("quantised_double_block/" + std::string(name) + "/256+512").c_str(),
                                     [](benchmark::State& state) { run_block(state, dtype_info<Format>); })
            ->UseManualTime()
            ->Iterations(5)
            ->Unit(benchmark::kMillisecond);
      });
  return true;
}();

}  // namespace
}  // namespace precast::bench

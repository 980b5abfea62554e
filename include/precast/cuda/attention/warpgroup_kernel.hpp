// Flash attention forward on Hopper's warpgroups (Shah et al. 2024, without the overlap of products and
// softmax within a warpgroup): one producer thread loads tiles by the TMA, and consumer warpgroups multiply
// them from shared memory.
#pragma once

#include <precast/cuda/attention/attention_operands.hpp>
#include <precast/cuda/attention/finish_results.hpp>
#include <precast/cuda/attention/finish_scores.hpp>
#include <precast/cuda/attention/online_softmax.hpp>
#include <precast/cuda/attention/panel_tile.hpp>
#include <precast/cuda/device/mbarrier.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/device/wgmma.hpp>
#include <precast/cuda/tile/sums_in_parts.hpp>
#include <precast/cuda/tile/tensor_core_products.hpp>
#include <precast/cuda/tile/warpgroup_attention_tile.hpp>

namespace precast::gpu {

namespace detail {

template <class Result>
struct WarpgroupArguments {
  HeadsMap q, k, v;
  Heads<Result> out;
  AttentionShape shape;
  GlobalPointer<f32> log_sums;  ///< as FlashArguments has them
};

/// Buffers that one warp fills and the others empty, in turn.
template <class Tile, int Stages>
class TileRing {
 public:
  explicit PRECAST_DEVICE TileRing(std::size_t start) : start_(start) {}

  /// To be called by one thread, before a barrier of the block; `readers` warps empty a buffer.
  PRECAST_DEVICE void init(int readers) const {
    for (int stage = 0; stage < Stages; ++stage) {
      init_mbarrier(full() + stage, 1);
      init_mbarrier(empty() + stage, readers);
    }
  }
  /// Waits for the buffer of a step to be empty, and starts to fill it.
  PRECAST_DEVICE void fill(int step, const HeadsMap& from, int row, int head, int batch,
                           Site site = Site::here()) const {
    wait_parity(empty() + stage(step), parity(step) ^ 1, site.part(1));
    arrive_expect_tx(full() + stage(step), Tile::bytes, site.part(2));
    tile(step).fetch(from, row, head, batch, full() + stage(step));
  }
  PRECAST_DEVICE Tile filled(int step, Site site = Site::here()) const {
    wait_parity(full() + stage(step), parity(step), site);
    return tile(step);
  }
  /// To be called by each reading warp, once its products have read the buffer.
  PRECAST_DEVICE void release(int step, Site site = Site::here()) const {
    if (lane_index() == 0) arrive(empty() + stage(step), site);
  }

 private:
  static PRECAST_DEVICE int stage(int step) { return step % Stages; }
  /// The parity of the phase in which a step's buffer is filled.
  static PRECAST_DEVICE int parity(int step) { return step / Stages % 2; }
  PRECAST_DEVICE Tile tile(int step) const {
    return {start_ +
            static_cast<std::size_t>(planted<"stage index">(stage(step), step / 2 % Stages) * Tile::bytes)};
  }
  static PRECAST_DEVICE auto full() { return static_shared<Mbarrier, Stages, struct Full>(); }
  static PRECAST_DEVICE auto empty() { return static_shared<Mbarrier, Stages, struct Empty>(); }

  std::size_t start_;
};

/// A block's tile of queries, and how many tiles it loads for them: of keys and of values in turn.
struct WarpgroupBlock {
  int batch, head, first, end, steps;

  explicit PRECAST_DEVICE WarpgroupBlock(const AttentionShape& shape) {
    constexpr WarpgroupAttentionTile tile = warpgroup_attention_tile;
    const int tiles = ceil_divide(shape.queries, tile.queries());
    head = block_index().x / tiles % shape.heads;
    batch = block_index().x / tiles / shape.heads;
    // The last queries see most keys of a causal attention: their blocks are the longest, and start first.
    first = (tiles - 1 - block_index().x % tiles) * tile.queries();
    end = first + tile.queries() < shape.queries ? first + tile.queries() : shape.queries;
    steps = 2 * ceil_divide(shape.keys_seen_by(end - 1), tile.keys);
  }
};

/// The producer, run by one thread: loads the queries, then tiles of keys and values in turn.
template <class Queries, class Ring, class Result>
PRECAST_DEVICE void produce(const WarpgroupArguments<Result>& given, const WarpgroupBlock& block,
                            const Queries& queries, SharedPointer<Mbarrier> queries_are_there,
                            const Ring& ring) {
  arrive_expect_tx(queries_are_there, Queries::bytes);
  queries.fetch(given.q, block.first, block.head, block.batch, queries_are_there);
  const int kv_head = given.shape.kv_head(block.head);
  for (int step = 0; step < block.steps; ++step)
    ring.fill(step, step % 2 == 0 ? given.k : given.v, step / 2 * warpgroup_attention_tile.keys, kv_head,
              block.batch);
}

/// The consumers: warpgroups that multiply, with 16 rows in each warp.
template <class Operand, bool WholeWeights, int Width, bool Biased, bool Saturates, class Queries, class Keys,
          int Stages, class Result>
PRECAST_DEVICE void consume(const WarpgroupArguments<Result>& given, const WarpgroupBlock& block,
                            const Queries& queries, SharedPointer<Mbarrier> queries_are_there,
                            const TileRing<Keys, Stages>& ring) {
  constexpr WarpgroupAttentionTile tile = warpgroup_attention_tile;
  using Scores = TensorCoreAccumulator<16, tile.keys>;
  using Results = TensorCoreAccumulator<16, Width>;
  using Weights = std::conditional_t<WholeWeights, SumsInParts<Operand, 16, tile.keys>,
                                     SumsAsRows<Operand, 16, tile.keys>>;
  constexpr int parts = parts_of<Weights>;
  const AttentionShape& shape = given.shape;
  const int first_row = 16 * planted<"rows of a warp">(warp_index(), 0);
  const int rows_of_group = warp_index() / warps_per_warpgroup * warpgroup_rows;
  OnlineSoftmax<Scores::rows> softmax;
  Results results{};
  wait_parity(queries_are_there, 0);
  for (int step = 0; step < block.steps; step += 2) {
    const int key = step / 2 * tile.keys;
    Scores scores;
    const Keys keys = ring.filled(step);
    wgmma_fence(scores.tiles[0]);
    PRECAST_UNROLL
    for (int k = 0; k < Width / 16; ++k)
      wgmma<Operand, false>(scores.tiles[0], queries.rows(rows_of_group, k), keys.rows(0, k), k > 0);
    wgmma_commit();
    wgmma_wait<0>(scores.tiles[0]);
    ring.release(step);

    const f32 scale = finish_scores<Biased>(
        scores, shape, block.head, block.first + first_row, key,
        planted<"keys of a tile">(key + tile.keys, key) > shape.keys_seen_by(block.first));
    f32 factors[Scores::rows];
    softmax.update(scores, scale, factors);
    rescale_results(results, factors);
    Fragment<4> weights[tile.keys / 16 * parts];
    PRECAST_UNROLL
    for (int k = 0; k < tile.keys / 16; ++k) {
      Fragment<4> of_step[parts];
      load_fragments(Weights{scores}, 0, k, of_step);
      PRECAST_UNROLL
      for (int part = 0; part < parts; ++part) weights[k * parts + part] = of_step[part];
    }

    const Keys values = ring.filled(step + 1);
    wgmma_fence(results.tiles[0], weights);
    PRECAST_UNROLL
    for (int k = 0; k < tile.keys / 16; ++k) {
      PRECAST_UNROLL
      for (int part = 0; part < parts; ++part)
        wgmma<Operand, true>(results.tiles[0], weights[k * parts + part],
                             values.columns(planted<"order of keys">(k, 0)), true);
    }
    wgmma_commit();
    wgmma_wait<0>(results.tiles[0]);
    ring.release(step + 1);
  }

  store_log_sums<Scores>(softmax, scale_left<Biased>(shape), shape, given.log_sums, block.batch, block.head,
                         block.first + first_row, block.end);
  store_results<Saturates, Scores::row_lanes>(results, softmax, factor_of_parts<Operand, WholeWeights>, shape,
                                              given.out, block.batch, block.head, block.first + first_row,
                                              block.end);
}

/// The work of a block: splits it into the producer and the consumers.
template <class Operand, bool WholeWeights, int Width, bool Biased, bool Saturates, class Result>
PRECAST_DEVICE void attend_by_warpgroups(const WarpgroupArguments<Result>& given) {
  constexpr WarpgroupAttentionTile tile = warpgroup_attention_tile;
  using Queries = PanelTile<Operand, tile.queries(), Width>;
  using Keys = PanelTile<Operand, tile.keys, Width>;
  const WarpgroupBlock block(given.shape);
  const Queries queries{padding_to<1024>()};
  const TileRing<Keys, tile.stages> ring(queries.start + Queries::bytes);
  const auto queries_are_there = static_shared<Mbarrier, 1, struct QueriesAreThere>();
  if (thread_index() == 0) {
    init_mbarrier(queries_are_there, 1);
    ring.init(tile.consumer_warps());
    fence_async_proxy();
  }
  sync_block();
  if (warp_index() >= tile.consumer_warps()) {
    setmaxnreg_dec<tile.producer_registers>();
    if (thread_index() == threads_per_warp * tile.consumer_warps())
      produce(given, block, queries, queries_are_there, ring);
  } else {
    setmaxnreg_inc<tile.consumer_registers>();
    consume<Operand, WholeWeights, Width, Biased, Saturates>(given, block, queries, queries_are_there, ring);
  }
}

}  // namespace detail

/// One block per tile of queries; blocks are numbered by tile, then head, then sample. Tiles of keys and of
/// values take turns in a ring. Roundings are those of flash_attention_kernel. Bytes moved: q and out once,
/// k and v once for every tile of queries.
template <class Operand, bool WholeWeights, int Width, bool Biased, bool Saturates, class Result>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(warpgroup_attention_tile.threads(), 1)
    warpgroup_attention_kernel(PRECAST_GRID_CONSTANT const detail::WarpgroupArguments<Result> given) {
  if constexpr (has_warpgroup_products)
    detail::attend_by_warpgroups<Operand, WholeWeights, Width, Biased, Saturates>(given);
  else
    stop_kernel();
}

}  // namespace precast::gpu

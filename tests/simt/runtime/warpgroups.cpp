#include <algorithm>
#include <bit>
#include <cstring>

#include <simt/errors.hpp>
#include <simt/runtime/machine.hpp>
#include <simt/runtime/matrix_descriptor.hpp>
#include <simt/runtime/tensor_core_sums.hpp>
#include <simt/runtime/warpgroups.hpp>

namespace simt::runtime {

namespace {

constexpr int warps_of_group = 4, depth = 16;
constexpr std::uint32_t unknown = 0x7fc0dead;  // a NaN: sums that are in flight

const detail::GroupProduct& of_lane(void* const* lanes, int lane) {
  return *static_cast<const detail::GroupProduct*>(lanes[lane]);
}

/// Whether two lanes ask for one product: all but their sums and factors in registers.
bool agree(const detail::GroupProduct& a, const detail::GroupProduct& b) {
  return a.type == b.type && a.columns == b.columns && a.b_is_transposed == b.b_is_transposed &&
         a.accumulates == b.accumulates && a.a == b.a && a.b == b.b && !a.words == !b.words;
}

}  // namespace

void Warpgroups::start_block(int warps) {
  warps_.assign(static_cast<std::size_t>(warps), {});
  started_.assign(static_cast<std::size_t>(warps + warps_of_group - 1) / warps_of_group, {});
}

void Warpgroups::end_block() const {
  for (std::size_t w = 0; w < warps_.size(); ++w) {
    if (!warps_[w].products.empty())
      throw Unfinished(machine_.place(),
                       "the block has ended, and products of warp " + std::to_string(w) +
                           " are still in flight: " + describe(Kind::wgmma, started_[w / 4].back().site));
    if (warps_[w].started != started_[w / 4].size())
      throw Divergence(machine_.place(),
                       "warp " + std::to_string(w) + " has started " + std::to_string(warps_[w].started) +
                           " products, and its warpgroup " + std::to_string(started_[w / 4].size()));
  }
}

void Warpgroups::check_company(int warp, void* const* lanes, const Site& site) {
  const auto& of = of_lane(lanes, 0);
  const std::string doing = "is at " + describe(Kind::wgmma, site);
  for (int lane = 1; lane < warp_size; ++lane)
    if (!agree(of, of_lane(lanes, lane)))
      throw Divergence(machine_.place(), doing + " with matrices that are not those of all lanes");
  const std::size_t group = static_cast<std::size_t>(warp / warps_of_group);
  if (machine_.grid().threads < static_cast<int>(group + 1) * warps_of_group * warp_size)
    throw Divergence(machine_.place(), doing + ", and its warpgroup has fewer than four warps");
  std::size_t& number = warps_[static_cast<std::size_t>(warp)].started;
  if (number == started_[group].size()) started_[group].push_back({site, of});
  const Started& others = started_[group][number++];
  if (!(others.site == site) || !agree(others.of, of))
    throw Divergence(machine_.place(), doing + "; the same product of another warp of its warpgroup is " +
                                           describe(Kind::wgmma, others.site) + ", or of other matrices");
}

void Warpgroups::fence(int warp, void* const* lanes) {
  const Unseen unseen;
  for (std::size_t range = 0; range < 2; ++range) {
    const auto of = [&](int lane) { return static_cast<const Registers*>(lanes[lane])[range]; };
    const auto bytes = static_cast<std::size_t>(of(0).count) * sizeof(float);
    if (bytes == 0) continue;
    Fenced& fenced = warps_[static_cast<std::size_t>(warp)].fenced.emplace_back();
    for (int lane = 0; lane < warp_size; ++lane) {
      const char* const first = static_cast<const char*>(of(lane).first);
      fenced.first[static_cast<std::size_t>(lane)] = first;
      fenced.bytes.insert(fenced.bytes.end(), first, first + bytes);
    }
  }
}

/// Whether registers were named at a fence, and are what they were there.
bool Warpgroups::are_fenced(const Warp& warp, const std::array<const void*, 32>& first, int count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
  return std::any_of(warp.fenced.begin(), warp.fenced.end(), [&](const Fenced& fenced) {
    const std::size_t of_lane = fenced.bytes.size() / warp_size;
    for (std::size_t lane = 0; lane < warp_size; ++lane) {
      const auto from = reinterpret_cast<std::uintptr_t>(first[lane]) -
                        reinterpret_cast<std::uintptr_t>(fenced.first[lane]);
      if (from + bytes > of_lane || from > of_lane ||
          std::memcmp(first[lane], fenced.bytes.data() + lane * of_lane + from, bytes) != 0)
        return false;
    }
    return true;
  });
}

/// The sums of a product: those of one that is in flight, or the registers' until now, which are unknown from
/// here on.
std::list<Warpgroups::Pending>::iterator Warpgroups::sums_of(Warp& warp, void* const* lanes) {
  const auto& of = of_lane(lanes, 0);
  const auto found = std::find_if(warp.pending.begin(), warp.pending.end(),
                                  [&](const Pending& pending) { return pending.place[0] == of.sums; });
  if (found != warp.pending.end()) return found;
  std::array<const void*, 32> first{};
  for (int lane = 0; lane < warp_size; ++lane)
    first[static_cast<std::size_t>(lane)] = of_lane(lanes, lane).sums;
  Pending& pending = warp.pending.emplace_back();
  pending.count = of.columns / 2;
  pending.are_fenced = are_fenced(warp, first, pending.count);
  pending.values.resize(static_cast<std::size_t>(warp_size * pending.count));
  for (int lane = 0; lane < warp_size; ++lane) {
    float* const sums = of_lane(lanes, lane).sums;
    pending.place[static_cast<std::size_t>(lane)] = sums;
    for (int i = 0; i < pending.count; ++i) {
      pending.values[static_cast<std::size_t>(lane * pending.count + i)] = sums[i];
      sums[i] = std::bit_cast<float>(unknown);
    }
  }
  return std::prev(warp.pending.end());
}

void Warpgroups::start(int warp, void* const* lanes, const Site& site) {
  const Unseen unseen;
  machine_.async_proxy().begin();
  check_company(warp, lanes, site);
  Warp& mine = warps_[static_cast<std::size_t>(warp)];
  Product product{.of = of_lane(lanes, 0), .sums = sums_of(mine, lanes), .group = mine.groups};
  if (product.sums->count != product.of.columns / 2)
    throw BadArgument(machine_.place(),
                      "is at " + describe(Kind::wgmma, site) +
                          ", whose sums are in flight as those of another number of columns");
  ++product.sums->products;
  product.is_fenced = product.sums->are_fenced;
  if (product.of.words) {
    std::array<const void*, 32> first{};
    for (std::size_t lane = 0; lane < warp_size; ++lane) {
      first[lane] = of_lane(lanes, static_cast<int>(lane)).words;
      std::copy_n(of_lane(lanes, static_cast<int>(lane)).words, 4, product.words[lane].begin());
    }
    product.is_fenced &= are_fenced(mine, first, 4);
  }
  // When a group reads its matrices, at its start or as late as it may, is part of the schedule: copies are
  // early or late for themselves.
  if (mine.products.empty() || mine.products.back().group < mine.groups)
    mine.reads_at_once = machine_.random().below(2) == 0;
  mine.products.push_back(product);
  if (mine.reads_at_once)
    for (Product& started : mine.products) compute(warp, started);
}

void Warpgroups::commit(int warp) {
  Warp& mine = warps_[static_cast<std::size_t>(warp)];
  ++mine.groups;
  mine.fenced.clear();
}

void Warpgroups::wait(int warp, int groups) {
  const Unseen unseen;
  Warp& mine = warps_[static_cast<std::size_t>(warp)];
  mine.fenced.clear();
  while (!mine.products.empty() && mine.products.front().group < mine.groups - groups) {
    Product& product = mine.products.front();
    compute(warp, product);
    if (--product.sums->products == 0) {
      land(*product.sums);
      mine.pending.erase(product.sums);
    }
    mine.products.erase(mine.products.begin());
  }
}

void Warpgroups::abandon(int warp) {
  Warp& mine = warps_[static_cast<std::size_t>(warp)];
  mine.products.clear();
  mine.pending.clear();
}

void Warpgroups::land(Pending& pending) {
  for (int lane = 0; lane < warp_size; ++lane)
    for (int i = 0; i < pending.count; ++i) {
      float& sum = pending.place[static_cast<std::size_t>(lane)][i];
      if (std::bit_cast<std::uint32_t>(sum) != unknown)
        throw BadArgument(machine_.place(), "waits for products whose sums have been written to: sum " +
                                                std::to_string(i) + " of lane " + std::to_string(lane));
      sum = pending.values[static_cast<std::size_t>(lane * pending.count + i)];
    }
}

double Warpgroups::value_of(detail::Operand type, std::uint64_t matrix, bool across, int outer,
                            int inner) const {
  const Descriptor descriptor(matrix);
  const std::uint32_t place =
      descriptor.place_of(across, static_cast<std::uint32_t>(outer), static_cast<std::uint32_t>(inner));
  const std::size_t offset = place - SharedMemory::first_address;
  if (descriptor.base_offset != 0 || !descriptor.starts_a_pattern())
    throw Misaligned(machine_.place(), "multiplies a matrix at shared address " +
                                           std::to_string(descriptor.address) +
                                           " that does not start where the pattern of its permutation does");
  if (place < SharedMemory::first_address || offset + 2 > machine_.shared().bytes())
    throw OutOfBounds(machine_.place(),
                      "multiplies a matrix that leaves shared memory: value (" + std::to_string(outer) +
                          ", " + std::to_string(inner) + ") at byte " +
                          std::to_string(static_cast<std::int64_t>(place) -
                                         static_cast<std::int64_t>(SharedMemory::first_address)));
  std::uint16_t code = 0;
  std::memcpy(&code, machine_.async_proxy().at(offset), sizeof code);
  return type == detail::Operand::bf16 ? precast::convert_value<precast::f32>(precast::bf16{code})
                                       : precast::convert_value<precast::f32>(precast::f16{code});
}

void Warpgroups::compute(int warp, Product& product) {
  if (product.computed) return;
  product.computed = true;
  const detail::GroupProduct& of = product.of;
  double a[16][depth];
  if (of.words) {
    for (int lane = 0; lane < warp_size; ++lane)
      for (int word = 0; word < 4; ++word) {
        double* const to = &a[lane / 4 + word % 2 * 8][lane % 4 * 2 + word / 2 * 8];
        const std::uint32_t values =
            product.words[static_cast<std::size_t>(lane)][static_cast<std::size_t>(word)];
        of.type == detail::Operand::bf16 ? unpack<precast::bf16>(values, to)
                                         : unpack<precast::f16>(values, to);
      }
  } else {
    for (int row = 0; row < 16; ++row)
      for (int k = 0; k < depth; ++k) a[row][k] = value_of(of.type, of.a, false, warp % 4 * 16 + row, k);
  }
  Pending& sums = *product.sums;
  for (int tile = 0; tile < of.columns / 8; ++tile) {
    double b[8][depth];
    for (int column = 0; column < 8; ++column)
      for (int k = 0; k < depth; ++k)
        b[column][k] = value_of(of.type, of.b, of.b_is_transposed, 8 * tile + column, k);
    for (int lane = 0; lane < warp_size; ++lane)
      for (int i = 0; i < 4; ++i) {
        float& sum = sums.values[static_cast<std::size_t>(lane * sums.count + 4 * tile + i)];
        const double *left = a[lane / 4 + i / 2 * 8], *right = b[lane % 4 * 2 + i % 2];
        if (!of.accumulates) sum = 0;
        sum = add_group<8>(add_group<8>(sum, left, right), left + 8, right + 8);
        if (!product.is_fenced) sum = std::bit_cast<float>(unknown);
      }
  }
}

}  // namespace simt::runtime

// What ldmatrix and mma.sync do, for a warp at a time.
#include <algorithm>

#include <simt/mma.hpp>
#include <simt/runtime/machine.hpp>
#include <simt/runtime/tensor_core_sums.hpp>
#include <simt/warp.hpp>

namespace simt::detail {

using runtime::add_group;
using runtime::Machine;
using runtime::machine;
using runtime::unpack;
using runtime::warp_size;

namespace {

constexpr unsigned all_lanes = 0xffffffffu;

struct LoadOperand {
  const MatrixRow* row;
  std::uint32_t* words;
};

/// Eight rows of 16 bytes are read at once when they lie in different quarters of 128 bytes, each of four
/// banks.
std::int64_t conflicts(Machine& m, void* const* operands, int matrix) {
  std::array<std::size_t, 8> chunks{};
  for (int r = 0; r < 8; ++r)
    chunks[static_cast<std::size_t>(r)] =
        m.shared().offset(static_cast<const LoadOperand*>(operands[matrix * 8 + r])->row->address) / 16;
  std::sort(chunks.begin(), chunks.end());
  const auto last = std::unique(chunks.begin(), chunks.end());  // the same row twice is read once
  std::array<int, 8> in_banks{};
  for (auto chunk = chunks.begin(); chunk != last; ++chunk) ++in_banks[*chunk % 8];
  return *std::max_element(in_banks.begin(), in_banks.end()) - 1;
}

template <int Count, bool Transposed>
void distribute(Machine& m, void* const* operands) {
  for (int matrix = 0; matrix < Count; ++matrix) {
    const auto value = [&](int row, int column) -> std::uint32_t {
      return static_cast<const LoadOperand*>(operands[matrix * 8 + row])->row->values[column];
    };
    for (int lane = 0; lane < warp_size; ++lane) {
      const int outer = lane / 4, inner = lane % 4 * 2;
      static_cast<LoadOperand*>(operands[lane])->words[matrix] =
          Transposed ? value(inner, outer) | value(inner + 1, outer) << 16
                     : value(outer, inner) | value(outer, inner + 1) << 16;
    }
    m.record().bank_conflicts += conflicts(m, operands, matrix);
  }
  m.record().matrix_loads += Count;
}

struct ProductOperand {
  float* sums;
  const std::uint32_t *a, *b;
};

template <class T>
void multiply(Machine&, void* const* operands) {
  constexpr int per_word = std::is_same_v<T, precast::tf32> ? 1 : 4 / static_cast<int>(sizeof(T));
  constexpr int depth = 8 * per_word;
  constexpr int group = depth / 2;  // 8 of 16 bits, 4 of tf32, 16 of 8 bits
  double a[16][depth], b[8][depth];
  const auto operand = [&](int lane) { return static_cast<ProductOperand*>(operands[lane]); };
  for (int lane = 0; lane < warp_size; ++lane) {
    const int outer = lane / 4, inner = lane % 4 * per_word;
    for (int word = 0; word < 4; ++word)
      unpack<T>(operand(lane)->a[word], &a[outer + word % 2 * 8][inner + word / 2 * depth / 2]);
    for (int word = 0; word < 2; ++word)
      unpack<T>(operand(lane)->b[word], &b[outer][inner + word * depth / 2]);
  }
  for (int lane = 0; lane < warp_size; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      float& sum = operand(lane)->sums[i];
      for (int k = 0; k < depth; k += group) sum = add_group<group>(sum, &a[row][k], &b[column][k]);
    }
  }
}

}  // namespace

bool passes_row(int count) { return machine().thread().index % warp_size < 8 * count; }

void ldmatrix(int count, bool transposed, const MatrixRow& row, std::uint32_t* words, Site site) {
  LoadOperand operand{&row, words};
  const auto act = count == 4   ? (transposed ? distribute<4, true> : distribute<4, false>)
                   : count == 2 ? (transposed ? distribute<2, true> : distribute<2, false>)
                                : (transposed ? distribute<1, true> : distribute<1, false>);
  machine().meet_in_warp({Kind::ldmatrix, site, all_lanes, 0, 0}, &operand, false, act);
}

void mma_sync(Operand type, float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
              Site site) {
  ProductOperand operand{sums, a, b};
  const auto act = [&] {
    switch (type) {
      case Operand::bf16:
        return &multiply<precast::bf16>;
      case Operand::f16:
        return &multiply<precast::f16>;
      case Operand::tf32:
        return &multiply<precast::tf32>;
      case Operand::fp8_e4m3:
        return &multiply<precast::fp8_e4m3>;
      case Operand::fp8_e5m2:
        break;
    }
    return &multiply<precast::fp8_e5m2>;
  }();
  machine().meet_in_warp({Kind::mma_sync, site, all_lanes, 0, 0}, &operand, false, act);
}

namespace {
struct Word {
  std::uint32_t value, received;
  int from;
};
}  // namespace

int lane_of(Kind kind, int argument) {
  const int lane = machine().thread().index % warp_size;
  switch (kind) {
    case Kind::shuffle:
      return argument & 31;
    case Kind::shuffle_xor:
      return lane ^ argument;
    default:
      return lane + argument;
  }
}

std::uint32_t exchange(Kind kind, std::uint32_t value, int lane, Site site) {
  const int own = machine().thread().index % warp_size;
  Word word{value, 0, lane >= 0 && lane < warp_size ? lane : own};
  machine().meet_in_warp({kind, site, all_lanes, 0, 0}, &word, false, [](Machine&, void* const* operands) {
    for (int l = 0; l < warp_size; ++l) {
      Word& mine = *static_cast<Word*>(operands[l]);
      mine.received = static_cast<const Word*>(operands[mine.from])->value;
    }
  });
  return word.received;
}

}  // namespace simt::detail

namespace simt {

std::uint32_t warp_ballot(bool value, Site site) {
  std::uint32_t word = value;
  runtime::machine().meet_in_warp({Kind::warp_ballot, site, 0xffffffffu, 0, 0}, &word, false,
                                  [](runtime::Machine&, void* const* operands) {
                                    std::uint32_t votes = 0;
                                    for (int l = 0; l < runtime::warp_size; ++l)
                                      votes |= *static_cast<std::uint32_t*>(operands[l]) << l;
                                    for (int l = 0; l < runtime::warp_size; ++l)
                                      *static_cast<std::uint32_t*>(operands[l]) = votes;
                                  });
  return word;
}

}  // namespace simt

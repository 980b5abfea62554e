// wgmma: products of matrices that a warpgroup starts, and that are there once it has waited for them.
#pragma once

#include <cstdint>

#include <simt/mma.hpp>
#include <simt/site.hpp>

namespace simt {

namespace detail {
/// What a lane brings to a product.
struct GroupProduct {
  Operand type{};
  int columns = 0;
  bool b_is_transposed = false, accumulates = false;
  std::uint64_t a = 0, b = 0;            ///< descriptors of matrices in shared memory
  const std::uint32_t* words = nullptr;  ///< A, where it is in registers
  float* sums = nullptr;                 ///< columns / 2
};
void wgmma(const GroupProduct& product, Site site);
}  // namespace detail

/// Registers of a lane, a word each.
struct Registers {
  const void* first = nullptr;
  int count = 0;
};

/// Products that start after it and before the next commit see these registers as they are here.
void wgmma_fence(Registers sums, Registers factors = {}, Site site = Site::here());
void wgmma_commit(Site site = Site::here());
void wgmma_wait(int groups, Site site = Site::here());

/// sums, `Columns / 2` of a lane, become A B or what they were and A B. They must stay where they are until
/// the warp has waited.
template <class T, int Columns, bool Transposed>
void wgmma(float* sums, std::uint64_t a, std::uint64_t b, bool accumulate, Site site = Site::here()) {
  static_assert(sizeof(T) == 2 && Columns % 8 == 0 && Columns >= 8 && Columns <= 256);
  detail::wgmma({detail::operand_of<T>(), Columns, Transposed, accumulate, a, b, nullptr, sums}, site);
}
template <class T, int Columns, bool Transposed>
void wgmma(float* sums, const std::uint32_t (&a)[4], std::uint64_t b, bool accumulate,
           Site site = Site::here()) {
  static_assert(sizeof(T) == 2 && Columns % 8 == 0 && Columns >= 8 && Columns <= 256);
  detail::wgmma({detail::operand_of<T>(), Columns, Transposed, accumulate, 0, b, a, sums}, site);
}

}  // namespace simt

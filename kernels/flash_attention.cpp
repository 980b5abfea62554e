// Attention whose scores never reach memory.
#include <attention_kernels.hpp>

#include <precast/backend/flash_attention.hpp>

namespace precast::kernels {
namespace {

template <class Row, class Types>
struct FlashAttention {
  using In = typename Row::result;
  static constexpr std::tuple functions{
      Attends<In, typename Types::result>(&backend::flash_attention<Types, EveryAttention, In, In, In>)};
};

[[gnu::used, maybe_unused]] constexpr auto stamped_flash_attention =
    addresses<FlashAttention, WithFlash, Attention>();

}  // namespace
}  // namespace precast::kernels

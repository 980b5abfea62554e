// Attention whose scores are in memory, and the probe of every attention's scores for the watch hook.
#include <attention_kernels.hpp>

#include <precast/backend/largest_score.hpp>
#include <precast/backend/plain_attention.hpp>

namespace precast::kernels {
namespace {

template <class Row, class Types>
struct PlainAttention {
  using In = typename Row::result;
  static constexpr std::tuple functions{
      Attends<In, typename Types::result>(&backend::plain_attention<Types, EveryAttention, In, In, In>)};
};

template <class Row, class Types>
struct LargestScore {
  using In = typename Row::result;
  static constexpr std::tuple functions{&backend::largest_score<In, In>};
};

[[gnu::used, maybe_unused]] constexpr auto stamped_plain_attention =
    addresses<PlainAttention, WithoutFlash, Attention>();
[[gnu::used, maybe_unused]] constexpr auto probes = addresses<LargestScore, WhereWatched, Attention>();

}  // namespace
}  // namespace precast::kernels

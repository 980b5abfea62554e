// Functions of values, look-ups, enlargement and position embeddings: kernels that are quickly compiled.
#include <stamp.hpp>

#include <precast/backend/convert.hpp>
#include <precast/backend/embedding.hpp>
#include <precast/backend/pointwise.hpp>
#include <precast/backend/rotary.hpp>
#include <precast/backend/timestep_embedding.hpp>
#include <precast/backend/upsample_nearest.hpp>
#include <precast/problem/broadcast.hpp>
#include <precast/problem/elementwise.hpp>

namespace precast::kernels {
namespace {

/// A function of problem/elementwise.hpp over arrays.
template <class Types, class F, class... In>
constexpr auto map = &backend::map_values<Types, F, In...>;

template <class Types, class In, class... F>
constexpr std::tuple activations{map<Types, F, In>..., map<Types, elementwise::GatedProduct<F>, In, In>...};

template <class Row, class Types>
struct Functions {
  using In = View<const typename Row::result>;
  using Rows = RowBroadcast<typename Row::result>;
  // Position embeddings, which are parameters: of most paths in the dtype of results.
  using Stored = View<const typename Row::storage>;
  using StoredRows = RowBroadcast<typename Row::storage>;
  static constexpr std::tuple functions{
      activations<Types, In, elementwise::Identity, elementwise::GeluTanh, elementwise::GeluErf,
                  elementwise::QuickGelu, elementwise::Silu, elementwise::Relu>,
      map<Types, elementwise::Add, In, In>,
      map<Types, elementwise::Add, In, Rows>,
      map<Types, elementwise::Add, In, Stored>,
      map<Types, elementwise::Add, In, StoredRows>,
      map<Types, elementwise::GatedAdd, In, In, Rows>,
      &backend::upsample_nearest<Types, typename Row::result>,
      &backend::copy_values<Types, typename Row::result>,
      &backend::copy_values<Types, f32>,
      &backend::embedding<Types, typename Row::storage>};
};

/// Results that leave a component, as f32.
template <class Row, class Types>
struct Conversions {
  static constexpr std::tuple functions{
      &backend::convert_values<f32, false, View<const typename Row::result>>};
};

template <class Row, class Types>
struct Positions {
  static constexpr std::tuple functions{&backend::rotary<Types, typename Row::result>,
                                        &backend::timestep_embedding<Types>};
};

[[gnu::used, maybe_unused]] constexpr auto stamped_pointwise = addresses<Functions, EveryPolicy, Pointwise>();
[[gnu::used, maybe_unused]] constexpr auto conversions = addresses<Conversions, EveryPolicy, Pointwise>();
[[gnu::used, maybe_unused]] constexpr auto positions = addresses<Positions, EveryPolicy, Position>();

}  // namespace
}  // namespace precast::kernels

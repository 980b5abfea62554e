// Norms of results of ops.
#include <stamp.hpp>

#include <precast/backend/group_norm.hpp>
#include <precast/backend/layer_norm.hpp>
#include <precast/backend/rms_norm.hpp>

namespace precast::kernels {
namespace {

template <class Row, class Types>
struct Norms {
  using In = typename Row::result;
  using Stored = typename Row::storage;  // of scales and shifts; modulations are results
  static constexpr std::tuple functions{&backend::layer_norm<Types, In, Stored>,
                                        &backend::layer_norm<Types, In, In>,
                                        &backend::rms_norm<Types, In, Stored>,
                                        &backend::group_norm<Types, In, Stored>,
                                        &backend::group_moments<In>,
                                        &backend::group_norm_with<Types, In, Stored>};
};

[[gnu::used, maybe_unused]] constexpr auto stamped_norm = addresses<Norms, EveryPolicy, Norm>();

}  // namespace
}  // namespace precast::kernels

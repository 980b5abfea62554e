// The watch hook's probes of results. One unit for all precisions: CUB takes nvcc longer than the kernels.
#include <stamp.hpp>

#include <precast/backend/extremes.hpp>
#if PRECAST_BACKEND_IS_CUDA && PRECAST_HAS_WATCH
#include <precast/cuda/reduction/extremes_by_cub.hpp>
#endif

namespace precast::kernels {
namespace {

template <class Row, class Types>
struct ExtremesOf {
  static constexpr std::tuple functions{&backend::extremes_of<typename Row::result>};
};

[[gnu::used, maybe_unused]] constexpr auto stamped = addresses<ExtremesOf, WhereWatched, Pointwise>();

}  // namespace
}  // namespace precast::kernels

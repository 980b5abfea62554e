// Readers of files' scalars, for each dtype that parameters are stored in: loops, which are compiled apart
// from models, as these are compiled to be small.
#include <stamp.hpp>

#include <precast/host/rows/scalar_reading.hpp>

namespace precast::kernels {
namespace {

template <class Row, class Types>
struct Readers {
  static constexpr std::tuple functions{&host::scalar_reader<f32>, &host::scalar_reader<typename Row::result>,
                                        &host::scalar_reader<typename Row::storage>};
};

[[gnu::used, maybe_unused]] constexpr auto stamped = addresses<Readers, EveryPolicy, Matmul, Norm>();

}  // namespace
}  // namespace precast::kernels

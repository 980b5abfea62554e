// expect: Policy: Compute<T> needs a scalar dtype: block dtypes are stored, not multiplied.
#include <precast/policy/policy.hpp>

using namespace precast;

struct TenInBlock {};
template <>
struct precast::dtype_traits<TenInBlock> {
  static constexpr std::string_view name = "ten";
  static constexpr int values_per_block = 10;
  static constexpr int bytes_per_block = 4;
};

#ifdef MISTAKE
using P = Policy<Storage<TenInBlock>, Compute<TenInBlock>, Activation<bf16>>;
#else
using P = Policy<Storage<TenInBlock>>;
static_assert(std::is_same_v<P::compute, bf16>);
#endif

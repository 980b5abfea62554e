// What precast/cuda/cluster/nccl_library.hpp says of NCCL's binary interface is what NCCL's header says:
// compiled where that is found, never run.
#include <type_traits>

#include <nccl.h>

#include <precast/cuda/cluster/nccl_library.hpp>

using precast::cluster::SumDtype;
using namespace precast::gpu;

static_assert(sizeof(ncclUniqueId) == sizeof(NcclId) && alignof(ncclUniqueId) == alignof(NcclId));
static_assert(sizeof(ncclResult_t) == sizeof(NcclResult) && ncclSuccess == 0 && ncclInProgress == 7);
static_assert(sizeof(ncclDataType_t) == sizeof(int) && sizeof(ncclRedOp_t) == sizeof(int));
static_assert(nccl_dtype(SumDtype::f32) == ncclFloat32 && nccl_dtype(SumDtype::f64) == ncclFloat64);
static_assert(nccl_dtype(SumDtype::f16) == ncclFloat16 && nccl_dtype(SumDtype::bf16) == ncclBfloat16);
static_assert(nccl_bytes == ncclInt8 && nccl_sum == ncclSum);

// A function of theirs, whose parameters are ours in other words: enums are ints, handles pointers.
template <class Theirs, class Ours>
constexpr bool fits = std::is_same_v<Theirs, Ours> || (std::is_enum_v<Theirs> && std::is_same_v<Ours, int>) ||
                      (std::is_pointer_v<Theirs> && std::is_pointer_v<Ours>) ||
                      (std::is_same_v<Theirs, ncclUniqueId> && std::is_same_v<Ours, NcclId>);
template <class R, class... A, class S, class... B>
constexpr bool is_called_so(R (*)(A...), S (*)(B...)) {
  if constexpr (sizeof...(A) == sizeof...(B))
    return fits<R, S> && (fits<A, B> && ...);
  else
    return false;
}
constexpr NcclFunctions ours{};
static_assert(is_called_so(&ncclGetUniqueId, ours.get_id));
static_assert(is_called_so(&ncclCommInitRank, ours.join));
static_assert(is_called_so(&ncclAllReduce, ours.sum));
static_assert(is_called_so(&ncclBroadcast, ours.broadcast));
static_assert(is_called_so(&ncclCommGetAsyncError, ours.state));
static_assert(is_called_so(&ncclCommDestroy, ours.leave));
static_assert(is_called_so(&ncclCommAbort, ours.abort));
static_assert(is_called_so(&ncclGetErrorString, ours.error_string));

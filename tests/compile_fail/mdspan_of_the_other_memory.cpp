// expect: mdspan: this one is in the other memory space: view a host_mdspan in HostSpace
#include <cstddef>

#include <precast/interop/mdspan.hpp>

using namespace precast;

/// As CCCL declares them: what an mdspan's accessor is called says where its values lie.
namespace cuda {
template <class T>
struct __device_accessor {};
template <class T>
struct __host_accessor {};
template <class T>
struct __managed_accessor {};
}  // namespace cuda

template <template <class> class Accessor>
struct Span {
  using element_type = f32;
  using accessor_type = Accessor<f32>;
  f32* data;

  static constexpr std::size_t rank() { return 2; }
  int extent(std::size_t) const { return 2; }
  int stride(std::size_t i) const { return i == 0 ? 2 : 1; }
  bool is_strided() const { return true; }
  f32* data_handle() const { return data; }
};

#if defined(MISTAKE)
using Given = Span<cuda::__device_accessor>;
#else
using Given = Span<cuda::__host_accessor>;
#endif

HostView<f32> run(Given given, Span<cuda::__managed_accessor> managed, Span<cuda::__device_accessor> device) {
  (void)interop::view_of<HostSpace>(managed);
  (void)interop::view_of<DeviceSpace>(managed);
  (void)interop::view_of<DeviceSpace>(device);
  return interop::view_of<HostSpace>(given);
}

// as_view: lets an op take a tensor or a view of any scalar dtype under one name.
#pragma once

#include <type_traits>

#include <precast/tensor/owned_tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// What an op reads, as a view in its backend's memory space.
template <class T, class Space>
View<const std::remove_const_t<T>> as_view(const ViewIn<T, Space>& view) {
  static_assert(std::is_same_v<Space, BackendSpace>,
                "Precast: this op works in the other memory: give it tensors or views of its own backend "
                "(arrived() brings a HostTensor to a device, to_host() brings a tensor back).");
  if constexpr (std::is_same_v<Space, BackendSpace>)
    return view;
  else
    return {};
}
template <class T, class Memory>
View<const T> as_view(const Tensor<T, Memory>& tensor) {
  return as_view(tensor.view());
}

}  // namespace PRECAST_BACKEND

/// A Tensor or a View of scalars: what ops take as input.
template <class A>
concept ScalarArray = requires(const A& array) {
  as_view(array);
};

/// The dtype of a ScalarArray's values.
template <ScalarArray A>
using value_type_of = typename A::value_type;

}  // namespace precast

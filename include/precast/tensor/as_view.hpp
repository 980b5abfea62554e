// as_view: lets an op take a tensor or a view of any scalar dtype under one name.
#pragma once

#include <type_traits>

#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

template <class T, class Memory>
View<const T> as_view(const Tensor<T, Memory>& tensor) {
  return tensor.view();
}
template <class T>
View<const std::remove_const_t<T>> as_view(const View<T>& view) {
  return view;
}

/// A Tensor or a View of scalars: what ops take as input.
template <class A>
concept ScalarArray = requires(const A& array) {
  as_view(array);
};

/// The dtype of a ScalarArray's values.
template <ScalarArray A>
using value_type_of = typename A::value_type;

}  // namespace precast

// foreign_dtype: which of Precast's dtypes another library's scalar type is, bit for bit.
#pragma once

#include <type_traits>

#include <precast/dtype/scalar.hpp>

namespace precast::interop {

/// Specialise it with `using type = bf16;` for a type whose values have the bits of bf16 in memory. A
/// library's types have a header of their own (interop/cuda_types.hpp); a program may add its own.
template <class T>
struct foreign_dtype {};
template <class T>
  requires ScalarDtype<T>
struct foreign_dtype<T> {
  using type = T;
};

/// A type, const or not, whose values Precast can read in place.
template <class T>
concept ForeignScalar = requires {
  typename foreign_dtype<std::remove_const_t<T>>::type;
};

/// The dtype of a foreign type's values, as const as that is.
template <ForeignScalar T>
using dtype_of_foreign =
    std::conditional_t<std::is_const_v<T>, const typename foreign_dtype<std::remove_const_t<T>>::type,
                       typename foreign_dtype<std::remove_const_t<T>>::type>;

/// The same pointer, to values of Precast's dtype.
template <ForeignScalar T>
dtype_of_foreign<T>* as_dtype(T* data) {
  using To = dtype_of_foreign<T>;
  static_assert(sizeof(To) == sizeof(T) && alignof(To) <= alignof(T),
                "foreign_dtype: a type has the size of the dtype that it is said to hold.");
  return reinterpret_cast<To*>(data);
}

}  // namespace precast::interop

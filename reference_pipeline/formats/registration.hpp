// Registration: how a program adds a dtype of its own to the formats that the commands know.
#pragma once

#include <formats/of_dtype.hpp>
#include <formats/registry.hpp>

namespace precast::formats {

/// Adds a dtype for as long as this lives: `const Registration<nf4> mine;` in a program's own file. From then
/// on convert, cost, plan, inspect, formats and generate --plan take it by its name. safetensors files hold
/// it under dtype_traits<T>::safetensors_name, for programs that know it.
template <class T>
class Registration {
 public:
  Registration() : added_(of_dtype<T>()) {
    if constexpr (storable<T>())
      static_assert(!detail::file_name_of<T>().empty(),
                    "A dtype that files hold needs static constexpr std::string_view safetensors_name in its "
                    "dtype_traits.");
  }

 private:
  AddedFormat added_;
};

}  // namespace precast::formats

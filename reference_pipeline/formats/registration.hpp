// Registration: how a program adds a dtype of its own to the formats that the commands know.
#pragma once

#include <formats/of_dtype.hpp>
#include <formats/registry.hpp>
#include <registration/kept_registration.hpp>

namespace precast::formats {

/// Adds a dtype for as long as this lives: `const Registration<nf4> mine;` in a program's own file. From then
/// on convert, cost, plan, inspect, formats and generate --plan take it by its name. safetensors files hold
/// it under dtype_traits<T>::safetensors_name, for programs that know it. Where a name of the dtype's is
/// taken, registration::throw_failure() says so: the program's every command ends with that line.
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
  registration::KeptRegistration<AddedFormat> added_;
};

}  // namespace precast::formats

// A shared library that is loaded at run time, so that the program starts without it.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include <dlfcn.h>

namespace precast::gpu {

/// A shared library, loaded by the first of several names that is found. It stays loaded until the process
/// ends, as objects that it made may be used until then.
class SharedLibrary {
 public:
  explicit SharedLibrary(std::initializer_list<const char*> names) {
    for (const char* const name : names) {
      handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (handle_) {
        name_ = name;
        problem_.clear();
        return;
      }
      const char* const reason = dlerror();
      problem_ += (problem_.empty() ? "" : "; ") + std::string(reason ? reason : name);
    }
  }

  explicit operator bool() const { return handle_ != nullptr; }
  /// The name that it was found by.
  const std::string& name() const { return name_; }
  /// Why it was not found, or the symbol that it lacks; empty where nothing is wrong.
  const std::string& problem() const { return problem_; }

  /// Sets a pointer to a function of the library. Returns whether it has the function; `problem` names the
  /// first that it lacks.
  template <class Function>
  bool find(const char* symbol, Function*& function) {
    function = handle_ ? reinterpret_cast<Function*>(dlsym(handle_, symbol)) : nullptr;
    if (!function && problem_.empty()) problem_ = name_ + " has no " + symbol;
    return function != nullptr;
  }

 private:
  void* handle_ = nullptr;
  std::string name_, problem_;
};

}  // namespace precast::gpu

// A case of a golden file of ops: its inputs, and PyTorch's error.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <support/arrays.hpp>
#include <support/golden.hpp>

namespace precast::testing {

/// A case in a dtype. Its tensors are on the host; derived classes run it on a backend.
template <class T>
class GoldenCase {
 public:
  /// `golden` must outlive it; `options` are the case's facts there.
  GoldenCase(const Golden& golden, std::string name, const nlohmann::json& options)
      : golden_(golden), name_(std::move(name)), options_(options) {}

 protected:
  /// The relative error of results against the case's tensor of that name, computed in float64.
  double error_of(const std::vector<double>& results, const std::string& name) const {
    const std::string exact = name_ + "." + std::string(dtype_traits<T>::name) + "." + name;
    return relative_error(results,
                          std::is_same_v<T, f32> ? golden_.doubles(exact) : wide(golden_.tensor(exact)));
  }
  const nlohmann::json& pytorchs_errors() const {
    return options_.at("errors").at(std::string(dtype_traits<T>::name));
  }

  HostTensor<T> rounded(const std::string& name) const {
    const HostTensor<f32> values = golden_.tensor(name_ + "." + name);
    HostTensor<T> result(golden_.shape(name_ + "." + name));
    for (std::int64_t i = 0; i < result.elements(); ++i) result.data()[i] = convert<T>(values.data()[i]);
    return result;
  }

  const Golden& golden_;
  std::string name_;
  nlohmann::json options_;
};

}  // namespace precast::testing

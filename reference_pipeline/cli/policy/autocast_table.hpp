// PyTorch's autocast compared with the op table, as text and JSON.
#pragma once

#include <string>

#include <cli/terminal/output.hpp>

#include <precast/policy/autocast_list.hpp>

namespace precast::cli {

/// The operators of each list by op class, what a policy does with each class, and the dtype of every value
/// of a small transformer under several policies and under autocast.
std::string autocast_text(AutocastDevice device);

/// {"lower_precision": [names of ATen], "f32", "f32_set_dtype", "promote", "banned", "device", "torch",
/// "op_classes": {name: class or null}, "flow": [{"value", "op", "function", "autocast", "policies": {name:
/// {"storage", "operand", "accumulate", "inside", "result"}}}]}.
Json autocast_json(AutocastDevice device);

}  // namespace precast::cli

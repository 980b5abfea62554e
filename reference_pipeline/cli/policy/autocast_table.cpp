#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include <cli/policy/autocast_table.hpp>
#include <cli/terminal/wrap.hpp>

#include <precast/io/joined.hpp>
#include <precast/policy/autocast.hpp>
#include <precast/policy/dtype_flow.hpp>

namespace precast::cli {

namespace {

/// How autocast on CUDA and a policy treat a class of ops; docs/autocast.md explains the differences.
struct ClassWords {
  std::string_view op, autocast, precast;
};
constexpr std::array class_words{
    ClassWords{Matmul::name, "lower precision", "operands Compute, sums Accumulate, result Activation"},
    ClassWords{Conv::name, "lower precision", "as Matmul"},
    ClassWords{Attention::name, "lower precision, its softmax with it",
               "as Matmul; scores Compute, or f32 with Flash or Upcast<Attention>"},
    ClassWords{Norm::name, "f32, result f32", "as given, inside f32, result Activation"},
    ClassWords{Softmax::name, "f32 result", "as given, inside f32, result f32"},
    ClassWords{Reduction::name, "sum, prod, norms f32; mean, var as given",
               "as given, summed in f32, result f32"},
    ClassWords{Loss::name, "f32", "as given, summed in f32, result f32"},
    ClassWords{Pointwise::name, "exp, log, pow, softplus f32; others as given",
               "as given, inside f32, result Activation"},
};
/// Autocast on the CPU has fewer operators: the classes that it treats differently.
constexpr std::array words_on_cpu{
    ClassWords{Norm::name, "as given", ""},
    ClassWords{Softmax::name, "as given", ""},
    ClassWords{Reduction::name, "prod, trace, quantiles f32; others as given", ""},
    ClassWords{Pointwise::name, "as given", ""},
};

/// The names of operators without overloads, each once, in the table's order.
std::vector<std::string> names_in(AutocastList list, AutocastDevice device) {
  std::vector<std::string> names;
  for (const AutocastOperator& op : autocast_operators) {
    const std::string name(op.base_name());
    if (op.on(device) == list && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

std::string_view op_class_of(std::string_view name) {
  for (const AutocastOperator& op : autocast_operators)
    if (op.base_name() == name) return op.op;
  return {};
}

std::string lists_text(AutocastDevice device) {
  std::string text;
  for (const AutocastList list : autocast_lists) {
    const std::vector<std::string> names = names_in(list, device);
    text += std::string(to_string(list)) + " (" + std::to_string(names.size()) + ")\n";
    std::map<std::string_view, std::vector<std::string>> by_class;
    for (const std::string& name : names) by_class[op_class_of(name)].push_back(name);
    for (const auto& [op, members] : by_class) {
      const std::string label = op.empty() ? "no op class" : std::string(op);
      for (const std::string& line : wrapped(label + ": " + io::joined(members, ", "), help_columns() - 2))
        text += "  " + line + "\n";
    }
  }
  return text;
}

std::string classes_text(AutocastDevice device) {
  std::vector<std::vector<std::string>> rows{{"op class", "autocast", "a policy"}};
  for (const ClassWords& words : class_words) {
    std::string_view autocast = words.autocast;
    if (device == AutocastDevice::cpu)
      for (const ClassWords& own : words_on_cpu)
        if (own.op == words.op) autocast = own.autocast;
    rows.push_back({std::string(words.op), std::string(autocast), std::string(words.precast)});
  }
  return aligned(rows);
}

std::string_view under_autocast(const FlowStep& step) { return step.in_lower_precision ? "lower" : "f32"; }

/// Whether a step stores intermediate values in memory, as attention without Flash does its scores.
bool has_scores(const FlowStep& step) { return step.op == Attention::name; }

std::string flow_text() {
  std::vector<std::vector<std::string>> rows{{"value", "op class", "autocast"}, {"parameters", "", "f32"}};
  for (const FlowStep& step : dtype_flow_steps) {
    const std::string op(step.op), autocast(under_autocast(step));
    if (has_scores(step)) rows.push_back({std::string(step.path) + ": scores", op, autocast});
    rows.push_back({std::string(step.path), op, autocast});
  }
  for_each_flow_policy([&]<class P>(FlowPolicy<P> policy) {
    rows[0].emplace_back(policy.name);
    rows[1].emplace_back(dtype_name<typename P::storage>());
    const auto flow = dtype_flow<P>();
    std::size_t row = 2;
    for (std::size_t i = 0; i < flow.size(); ++i) {
      if (has_scores(dtype_flow_steps[i])) rows[row++].emplace_back(flow[i].inside);
      rows[row++].emplace_back(flow[i].result);
    }
  });
  return aligned(rows);
}

Json flow_json() {
  Json values = Json::array();
  for (const FlowStep& step : dtype_flow_steps)
    values.push_back({{"value", step.path},
                      {"op", step.op},
                      {"function", step.function},
                      {"autocast", under_autocast(step)},
                      {"policies", Json::object()}});
  for_each_flow_policy([&]<class P>(FlowPolicy<P> policy) {
    const auto flow = dtype_flow<P>();
    for (std::size_t i = 0; i < flow.size(); ++i)
      values[i]["policies"][std::string(policy.name)] = dtypes_json(flow[i]);
  });
  return values;
}

std::string_view device_name(AutocastDevice device) {
  return device == AutocastDevice::cuda ? "cuda" : "cpu";
}

}  // namespace

std::string autocast_text(AutocastDevice device) {
  return "What autocast of PyTorch " + std::string(autocast_torch_version) + " does on " +
         std::string(device_name(device)) + ", operator by operator\n\n" + lists_text(device) +
         "\nWhat it does with each class of ops, and what a policy does\n\n" + classes_text(device) +
         "\nThe dtype of every value of a small transformer: autocast with parameters in f32 (lower: f16 or "
         "bf16),\nand policies\n\n" +
         flow_text();
}

Json autocast_json(AutocastDevice device) {
  Json json;
  for (const AutocastList list : autocast_lists) json[std::string(to_string(list))] = names_in(list, device);
  json["device"] = device_name(device);
  json["torch"] = autocast_torch_version;
  Json classes = Json::object();
  for (const AutocastOperator& op : autocast_operators)
    if (op.on(device) != AutocastList::none) classes[std::string(op.base_name())] = text_or_null(op.op);
  json["op_classes"] = classes;
  json["flow"] = flow_json();
  return json;
}

}  // namespace precast::cli

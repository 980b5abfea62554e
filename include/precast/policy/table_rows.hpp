// The op table of a policy, its rows of gradients, and its C++ spelling, as text: for programs that print
// them.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <precast/dtype/scalar.hpp>
#include <precast/policy/gradient_table.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/options.hpp>
#include <precast/policy/policy.hpp>

namespace precast {

/// A row of the op table.
struct OpRow {
  std::string_view op;
  DtypeNames dtypes;

  friend bool operator==(const OpRow&, const OpRow&) = default;
};

/// The rows of every op class, in the order in which tables print them.
template <PolicyType P>
std::vector<OpRow> op_rows_of() {
  std::vector<OpRow> rows;
  AllOpClasses::for_each([&]<class Op>(Op) { rows.push_back({Op::name, dtype_names<precisions<P, Op>>()}); });
  return rows;
}

/// The dtypes that gradients of an op class are computed in; a name is empty where there is no such value.
struct GradientRow {
  std::string_view op, operand, accumulate, inside;
  std::string_view result;      ///< of the op's inputs
  std::string_view parameters;  ///< of its parameters, where it has some

  friend bool operator==(const GradientRow&, const GradientRow&) = default;
};

/// The dtypes that a policy trains with.
struct GradientTable {
  std::vector<GradientRow> rows;       ///< of the op classes that have gradients
  std::string_view master;             ///< of the master parameters and the optimiser's moments
  std::string_view product;            ///< that linear layers round results and gradients of inputs to
  std::string_view parameter_product;  ///< that they round gradients of parameters to
};

template <PolicyType P>
GradientTable gradient_table_of() {
  using Trained = training<P>;
  GradientTable table{{},
                      dtype_name<typename Trained::master>(),
                      dtype_name<typename Trained::product>(),
                      dtype_name<typename Trained::parameter_product>()};
  constexpr bool with_parameters = true, without_parameters = false;
  const auto add = [&]<class Op>(Op, bool has_parameters) {
    using Types = gradient_precisions<P, Op>;
    using Parameters = typename parameter_gradient_precisions<P, Op>::result;
    table.rows.push_back({Op::name, dtype_name<typename Types::operand>(),
                          dtype_name<typename Types::accumulate>(), dtype_name<typename Types::inside>(),
                          dtype_name<typename Types::result>(),
                          has_parameters ? dtype_name<Parameters>() : std::string_view()});
  };
  add(Matmul{}, with_parameters);
  add(Attention{}, without_parameters);
  add(Norm{}, with_parameters);
  add(Reduction{}, with_parameters);  // of a bias, and of rows of an embedding: sums over a batch
  add(Loss{}, without_parameters);
  add(Pointwise{}, without_parameters);
  add(Position{}, without_parameters);
  return table;
}

/// "Policy<Storage<e3m4>, Compute<bf16>, Flash>": a policy without its default arguments.
template <PolicyType P>
std::string spelling_of() {
  using S = typename P::storage;
  using C = typename P::compute;
  using Default = std::conditional_t<BlockDtype<S>, bf16, S>;
  std::string text = "Policy<Storage<" + std::string(dtype_name<S>()) + ">";
  const auto add = [&](std::string_view option, std::string_view inside) {
    text += ", " + std::string(option) + "<" + std::string(inside) + ">";
  };
  if (!std::is_same_v<C, Default>) add("Compute", dtype_name<C>());
  if (!std::is_same_v<typename P::accumulate, f32>) add("Accumulate", dtype_name<typename P::accumulate>());
  if (!std::is_same_v<typename P::activation, typename Policy<Storage<S>, Compute<C>>::activation>)
    add("Activation", dtype_name<typename P::activation>());
  std::string up, down;
  AllOpClasses::for_each([&]<class Op>(Op) {
    if (P::template upcasts<Op>) up += (up.empty() ? "" : ", ") + std::string(Op::name);
    if (P::template downcasts<Op>) down += (down.empty() ? "" : ", ") + std::string(Op::name);
  });
  if (!up.empty()) add("Upcast", up);
  if (!down.empty()) add("Downcast", down);
  if (P::flash) text += ", Flash";
  if (P::saturate) text += ", Overflow<Saturate>";
  return text + ">";
}

}  // namespace precast

// The op table of a policy, and its C++ spelling, as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <precast/policy/op_table.hpp>
#include <precast/policy/options.hpp>
#include <precast/policy/policy.hpp>

namespace precast::families {

/// A row of the op table; a name is empty where the op class has no such value.
struct OpRow {
  std::string_view op, storage, operand, accumulate, inside, result;

  friend bool operator==(const OpRow&, const OpRow&) = default;
};

/// The rows of every op class, in the order in which tables print them.
template <PolicyType P>
std::vector<OpRow> op_rows_of() {
  std::vector<OpRow> rows;
  AllOpClasses::for_each([&]<class Op>(Op) {
    using Types = precisions<P, Op>;
    rows.push_back({Op::name, dtype_name<typename Types::storage>(), dtype_name<typename Types::operand>(),
                    dtype_name<typename Types::accumulate>(), dtype_name<typename Types::inside>(),
                    dtype_name<typename Types::result>()});
  });
  return rows;
}

/// "Policy<Storage<e3m4>, Compute<bf16>, Flash>": a policy without what it would have by default.
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

}  // namespace precast::families

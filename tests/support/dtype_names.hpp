// The dtypes of a row as messages of tests show them.
#pragma once

#include <string>
#include <string_view>

#include <catch2/catch.hpp>

#include <precast/policy/op_table.hpp>

template <>
struct Catch::StringMaker<precast::DtypeNames> {
  static std::string convert(const precast::DtypeNames& names) {
    std::string text;
    for (const std::string_view name :
         {names.storage, names.operand, names.accumulate, names.inside, names.result})
      text.append(text.empty() ? "" : ", ").append(name.empty() ? "none" : name);
    return text;
  }
};

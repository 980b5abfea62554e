// RenamedSource: parameters by our names out of a source that has others, some of them several in one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <precast/io/name_table.hpp>
#include <precast/nn/parameter_source.hpp>

namespace precast::weights {

/// Our parameters that lie in the tensor that is stored as `name`, as io::our_rows has them; where the table
/// has a norm's scale that ends in "scale", of one that ends in "weight", too, as some programs call it.
std::vector<io::NamedRows> our_rows_in(std::span<const io::NameLine> table, std::string_view name,
                                       std::int64_t levels = 0);

/// The parameter that lies at a place of a source: all of its rows, or those that the place says. Throws
/// InputError for a tensor that is missing, or whose rows cannot be divided as the place says.
nn::Parameter parameter_at(const nn::ParameterSource& source, const io::NamedRows& place);

/// The values of a parameter of blocks as f32, for what changes their order.
nn::Parameter decoded(nn::Parameter blocks);

/// Finds a parameter where a table says that it lies. Of a matrix that is several of ours it gives the rows,
/// as they are stored. A name that no line has is asked for as it is.
class RenamedSource final : public nn::ForwardingSource {
 public:
  /// `source` and what `table` refers to must outlive it. `levels` is what the table's '~' count to.
  RenamedSource(const nn::ParameterSource& source, std::span<const io::NameLine> table,
                std::int64_t levels = 0)
      : ForwardingSource(source), table_(table), levels_(levels) {}

  bool contains(std::string_view name) const override { return original().contains(place_of(name).name); }
  /// Throws InputError for a tensor that is missing, or whose rows cannot be divided as the table says.
  nn::Parameter find(std::string_view name) const override;

 private:
  io::NamedRows place_of(std::string_view name) const;

  std::span<const io::NameLine> table_;
  std::int64_t levels_;
};

}  // namespace precast::weights

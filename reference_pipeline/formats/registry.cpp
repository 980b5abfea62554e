// Precast's own lists and what was added, as one.
#include <algorithm>
#include <utility>

#include <formats/of_dtype.hpp>
#include <formats/registry.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/quant/by_name.hpp>

namespace precast::formats {

namespace {

/// A block format of Precast's own: its decoder is the one that kernels/ compiles, where PRECAST_QUANT has
/// it.
template <BlockDtype Format>
StoredFormat of_listed() {
  StoredFormat format = of_dtype<Format>();
  format.holds_f16_range = true;  // each has scales for that
  format.decode = [](std::span<const std::byte> bytes, std::span<f32> values) {
    quant::decode(dtype_traits<Format>::name, bytes, values);
  };
  return format;
}

template <class... Entries>
void add_listed(std::vector<StoredFormat>& formats, BlockFormatList<Entries...>) {
  (formats.push_back(of_listed<typename Entries::format>()), ...);
}

struct Lists {
  std::vector<StoredFormat> all, added;

  Lists() { collect(); }

  void collect() {
    all.clear();
    any_dtype(ScalarDtypes{}, [&]<class T>() {
      if constexpr (in_files<T>) all.push_back(of_dtype<T>());
      return false;
    });
    add_listed(all, BlockFormats{});
    all.insert(all.end(), added.begin(), added.end());
    std::ranges::stable_sort(all, std::ranges::greater{}, &StoredFormat::bits);
  }
};

/// Made when it is first asked for, which may be by a registration before main.
Lists& lists() {
  static Lists all;
  return all;
}

io::FileDtype file_dtype_of(const StoredFormat& format) {
  if (format_named(format.name)) throw Error("number format '" + format.name + "' is there already");
  return {format.file_name, format.info, true};
}

}  // namespace

const std::vector<StoredFormat>& all_formats() { return lists().all; }
const std::vector<StoredFormat>& added_formats() { return lists().added; }

const StoredFormat* format_named(std::string_view name) {
  const auto found = std::ranges::find(lists().all, name, &StoredFormat::name);
  return found == lists().all.end() ? nullptr : &*found;
}

AddedFormat::AddedFormat(StoredFormat format) : name_(format.name), in_files_(file_dtype_of(format)) {
  lists().added.push_back(std::move(format));
  lists().collect();
}

AddedFormat::~AddedFormat() {
  std::erase_if(lists().added, [&](const StoredFormat& format) { return format.name == name_; });
  lists().collect();
}

}  // namespace precast::formats

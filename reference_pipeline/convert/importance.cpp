#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <convert/importance.hpp>
#include <flux/bfl_names.hpp>
#include <weights/layouts.hpp>

#include <precast/error.hpp>
#include <precast/io/content_hash.hpp>
#include <precast/io/gguf.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>
#include <precast/io/name_table.hpp>
#include <precast/io/tensor_file.hpp>

namespace precast::conversion {

namespace {

constexpr std::string_view sums_end = ".in_sum2", counts_end = ".counts";
constexpr const char* what_to_give =
    ": give a file that precast record --importance, or llama.cpp's or stable-diffusion.cpp's imatrix tool, "
    "wrote";

/// The values of an F32 tensor of a file.
std::vector<f32> values_of(const std::filesystem::path& path, const io::GgufTensor& tensor) {
  if (tensor.type.info != dtype_info<f32>)
    throw io::tensor_error(path, tensor.name,
                           "is " + std::string(tensor.type.info.name) + ", not f32" + what_to_give);
  std::vector<f32> values(static_cast<std::size_t>(tensor.shape.elements()));
  // An empty vector has no address that memcpy may be given.
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

/// Takes numbers and texts from bytes that may end too soon.
class Reader {
 public:
  Reader(const std::filesystem::path& path, std::span<const std::byte> bytes) : path_(path), rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }
  std::span<const std::byte> take(std::size_t count) {
    if (count > rest_.size())
      throw io::file_error(
          path_,
          std::string("ends inside an entry: it is cut off, or not an importance file") + what_to_give);
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  std::int32_t number(std::int32_t low) {
    std::int32_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    if (value < low) throw io::file_error(path_, "has a count of " + std::to_string(value) + what_to_give);
    return value;
  }

 private:
  const std::filesystem::path& path_;
  std::span<const std::byte> rest_;
};

}  // namespace

Importance::Importance(const std::filesystem::path& path) : path_(path) {
  const io::MappedFile file(path);
  const std::string_view text = file.text();
  if (text.starts_with("GGUF"))
    read_gguf();
  else if (text.size() > 8 && text[8] == '{')  // the length of a safetensors header, and the header
    throw io::file_error(path, std::string("is a safetensors file, of weights or samples") + what_to_give);
  else
    read_dat(file.bytes());
  if (entries_.empty()) throw io::file_error(path, std::string("has no entry of a matrix") + what_to_give);
}

void Importance::read_gguf() {
  const io::GgufFile file(path_);
  for (const io::GgufTensor& sums : file.tensors()) {
    if (!sums.name.ends_with(sums_end)) continue;
    const std::string name = sums.name.substr(0, sums.name.size() - sums_end.size());
    const io::GgufTensor* const counts = file.lookup(name + std::string(counts_end));
    if (!counts)
      throw io::tensor_error(
          path_, sums.name,
          "has no " + io::printable(name) + std::string(counts_end) + " beside it" + what_to_give);
    const std::vector<f32> count = values_of(path_, *counts);
    if (count.size() != 1)
      throw io::tensor_error(
          path_, counts->name,
          "counts for " + std::to_string(count.size()) + " experts: matrices of experts are not read");
    std::vector<f32> squares = values_of(path_, sums);
    if (!(count[0] > 0)) continue;
    for (f32& square : squares) square /= count[0];
    add(name, std::move(squares));
  }
}

void Importance::read_dat(std::span<const std::byte> bytes) {
  Reader reader(path_, bytes);
  // The number of calls and the data's name, which follow the entries, say nothing of a matrix.
  for (std::int32_t left = reader.number(0); left > 0; --left) {
    const auto letters = reader.take(static_cast<std::size_t>(reader.number(1)));
    const std::string name(reinterpret_cast<const char*>(letters.data()), letters.size());
    const std::int32_t calls = reader.number(0);
    const auto columns = static_cast<std::size_t>(reader.number(1));
    const auto numbers = reader.take(columns * sizeof(f32));
    std::vector<f32> squares(columns);
    std::memcpy(squares.data(), numbers.data(), numbers.size());
    if (calls == 0) continue;
    for (f32& square : squares) square /= static_cast<f32>(calls);
    add(name, std::move(squares));
  }
}

void Importance::add(std::string name, std::vector<f32> squares) {
  const auto bad =
      std::ranges::find_if_not(squares, [](f32 square) { return square >= 0 && std::isfinite(square); });
  if (bad != squares.end())
    throw io::tensor_error(path_, name,
                           "column " + std::to_string(bad - squares.begin()) +
                               " is negative, infinite or NaN, which no mean square is: make the file again");
  // Where nothing ever met a matrix, no column counts more than another.
  if (std::ranges::all_of(squares, [](f32 square) { return square == 0; })) return;
  name.erase(0, name.size() - weights::without_prefix(name).size());
  if (!entries_.emplace(name, std::move(squares)).second)
    throw io::tensor_error(path_, name, "appears twice: make the file again");
}

std::uint64_t Importance::fingerprint() const {
  io::ContentHash hash;
  for (const auto& [name, squares] : entries_) {
    hash.add(std::as_bytes(std::span(name)));
    hash.add(std::as_bytes(std::span(squares)));
  }
  return hash.value();
}

std::span<const f32> Importance::of(std::span<const std::string> names, std::int64_t columns) const {
  for (const std::string& name : names) {
    const auto found = entries_.find(weights::without_prefix(name));
    if (found == entries_.end()) continue;
    if (static_cast<std::int64_t>(found->second.size()) != columns)
      throw io::tensor_error(path_, found->first,
                             "has " + std::to_string(found->second.size()) + " columns, and the matrix " +
                                 std::to_string(columns) + ": give the importance of this model");
    return found->second;
  }
  return {};
}

std::span<const f32> Importance::of_parameter(const std::string& name, std::int64_t columns) const {
  std::vector<std::string> names{name};
  if (auto theirs = io::their_rows(flux::bfl_names, name)) names.push_back(std::move(theirs->name));
  return of(names, columns);
}

}  // namespace precast::conversion

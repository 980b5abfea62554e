// InputSquares: the magnitudes of the inputs of each linear layer, column by column, as weights for the
// errors of its matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <precast/error.hpp>
#include <precast/watch/observer.hpp>

namespace precast::watch {

/// Sums of squares of the inputs of each linear layer, by its path in the model ("transformer.proj_out").
class InputSquares final : public Observer {
 public:
  /// For one layer: the sum for each column of its matrix, how many rows were added, and in how many calls.
  struct Sums {
    std::vector<double> squares;
    std::int64_t rows = 0, calls = 0;
  };

  const std::map<std::string, Sums, std::less<>>& by_path() const { return by_path_; }

  /// The sums to which a kernel of products adds the squares of each row of its inputs. on_op() attributes
  /// them to a layer, once the op has reported its path.
  std::span<double> begin(std::int64_t rows, std::int64_t columns) {
    pending_.squares.assign(static_cast<std::size_t>(columns), 0.0);
    pending_.rows = rows;
    return pending_.squares;
  }

  /// Throws Error where two layers of different widths have one path.
  void on_op(const OpRecord& record) override {
    const std::int64_t rows = std::exchange(pending_.rows, 0);
    if (record.function != "linear" || rows == 0) return;
    Sums& sums = by_path_[record.path];
    if (sums.rows == 0) sums.squares.resize(pending_.squares.size());
    if (sums.squares.size() != pending_.squares.size())
      throw Error("'" + record.path + "' has inputs of " + std::to_string(sums.squares.size()) + " and of " +
                  std::to_string(pending_.squares.size()) + " columns: give each layer a scope of its own");
    for (std::size_t i = 0; i < sums.squares.size(); ++i) sums.squares[i] += pending_.squares[i];
    sums.rows += rows;
    ++sums.calls;
  }

 private:
  std::map<std::string, Sums, std::less<>> by_path_;
  Sums pending_;
};

namespace detail {
inline thread_local InputSquares* input_squares = nullptr;
}  // namespace detail

/// The counter of the inputs of products on this thread, or nullptr. Products of the host are counted;
/// those of a device are not.
inline InputSquares* counted_input_squares() { return detail::input_squares; }

/// Observes and counts for as long as it lives. Throws PathNotCompiled in a build without the watch hook.
class CountingInputSquares {
 public:
  explicit CountingInputSquares(InputSquares& squares)
      : watching_(squares), before_(std::exchange(detail::input_squares, &squares)) {}
  ~CountingInputSquares() { detail::input_squares = before_; }
  CountingInputSquares(const CountingInputSquares&) = delete;
  CountingInputSquares& operator=(const CountingInputSquares&) = delete;

 private:
  Watching watching_;
  InputSquares* before_;
};

}  // namespace precast::watch

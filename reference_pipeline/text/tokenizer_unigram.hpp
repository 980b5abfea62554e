// UnigramModel: splits a word into pieces of a vocabulary with the best total score.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace precast::text {

/// A piece and its log probability. Its id is its index in the vocabulary.
struct ScoredPiece {
  std::string text;
  double score = 0;
};

/// A unigram language model (Kudo 2018, "Subword Regularization"), with the arithmetic of the tokenizers
/// library: sums in f64, the first of equal paths, an unknown character scores 10 less than the lowest
/// score, and adjacent unknown characters are one token.
class UnigramModel {
 public:
  UnigramModel() = default;
  /// `unknown_id` must be an index of `pieces`; of pieces with the same text the last one is used.
  UnigramModel(std::vector<ScoredPiece> pieces, std::int32_t unknown_id);

  std::size_t size() const { return scores_.size(); }
  std::optional<std::int32_t> lookup(std::string_view text) const;
  /// Appends the ids of the best pieces of a word, which is valid UTF-8.
  void append(std::string_view word, std::vector<std::int32_t>& ids) const;

 private:
  struct Entry {
    std::string text;
    std::int32_t id;
  };

  std::vector<Entry> sorted_;
  std::vector<double> scores_;
  std::int32_t unknown_id_ = 0;
  double unknown_score_ = 0;
};

}  // namespace precast::text

#include <algorithm>
#include <limits>

#include <text/tokenizer_unicode.hpp>
#include <text/tokenizer_unigram.hpp>

namespace precast::text {

UnigramModel::UnigramModel(std::vector<ScoredPiece> pieces, std::int32_t unknown_id)
    : unknown_id_(unknown_id) {
  double lowest = std::numeric_limits<double>::infinity();
  for (ScoredPiece& piece : pieces) {
    lowest = std::min(lowest, piece.score);
    sorted_.push_back({std::move(piece.text), static_cast<std::int32_t>(scores_.size())});
    scores_.push_back(piece.score);
  }
  unknown_score_ = lowest - 10.0;
  std::ranges::sort(sorted_, [](const Entry& a, const Entry& b) {
    return std::pair(std::string_view(a.text), -a.id) < std::pair(std::string_view(b.text), -b.id);
  });
  const auto same_text = [](const Entry& a, const Entry& b) { return a.text == b.text; };
  sorted_.erase(std::unique(sorted_.begin(), sorted_.end(), same_text), sorted_.end());
}

std::optional<std::int32_t> UnigramModel::lookup(std::string_view text) const {
  const auto found =
      std::ranges::lower_bound(sorted_, text, {}, [](const Entry& e) { return std::string_view(e.text); });
  return found != sorted_.end() && found->text == text ? std::optional(found->id) : std::nullopt;
}

void UnigramModel::append(std::string_view word, std::vector<std::int32_t>& ids) const {
  struct Node {  // the best path that ends at a byte
    double score = 0;
    std::optional<std::size_t> begin;
    std::int32_t id = 0;
  };
  std::vector<Node> best(word.size() + 1);
  const auto offer = [&](std::size_t begin, std::size_t end, double score, std::int32_t id) {
    Node& node = best[end];
    const double total = score + best[begin].score;
    if (!node.begin || total > node.score) node = {total, begin, id};
  };
  for (std::size_t begin = 0; begin < word.size();) {
    const std::size_t character = first_character(word.substr(begin)).bytes;
    bool has_single = false;
    // All pieces that start here, shortest first: the range of sorted pieces that match so far is narrowed
    // byte by byte.
    auto first = sorted_.begin();
    auto last = sorted_.end();
    for (std::size_t length = 1; begin + length <= word.size() && first != last; ++length) {
      const auto byte = static_cast<unsigned char>(word[begin + length - 1]);
      const auto byte_of = [&](const Entry& e) {
        return e.text.size() < length ? -1 : static_cast<int>(static_cast<unsigned char>(e.text[length - 1]));
      };
      first = std::ranges::lower_bound(first, last, static_cast<int>(byte), {}, byte_of);
      last = std::ranges::upper_bound(first, last, static_cast<int>(byte), {}, byte_of);
      if (first == last || first->text.size() != length) continue;
      offer(begin, begin + length, scores_[static_cast<std::size_t>(first->id)], first->id);
      has_single = has_single || length == character;
    }
    if (!has_single) offer(begin, begin + character, unknown_score_, unknown_id_);
    begin += character;
  }

  std::vector<std::int32_t> backwards;
  for (std::size_t end = word.size(); end > 0;) {
    const Node& node = best[end];
    std::size_t begin = *node.begin;
    if (node.id == unknown_id_) {
      while (begin > 0 && best[begin].id == unknown_id_) begin = *best[begin].begin;
      backwards.push_back(lookup(word.substr(begin, end - begin)).value_or(unknown_id_));
    } else {
      backwards.push_back(node.id);
    }
    end = begin;
  }
  ids.insert(ids.end(), backwards.rbegin(), backwards.rend());
}

}  // namespace precast::text

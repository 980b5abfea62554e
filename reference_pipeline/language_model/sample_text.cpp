#include <algorithm>
#include <cmath>
#include <random>

#include <language_model/sample_text.hpp>

namespace precast::language_model {

std::vector<std::int32_t> sample_tokens(TrainedModel& model, std::vector<std::int32_t> start,
                                        std::int64_t count, std::int64_t context, double temperature,
                                        std::uint64_t seed,
                                        const std::function<bool(std::int64_t)>& should_continue) {
  std::mt19937_64 engine(seed);
  std::vector<std::int32_t> tokens = std::move(start);
  const std::size_t given = tokens.size();
  for (std::int64_t i = 0; i < count && (!should_continue || should_continue(i)); ++i) {
    const std::size_t seen = std::min(tokens.size(), static_cast<std::size_t>(context));
    const std::vector<f32> logits = model.next_token(std::span(tokens).last(seen));
    const auto most = std::ranges::max_element(logits);
    if (!std::ranges::all_of(logits, [](f32 value) { return std::isfinite(value); })) break;
    std::int32_t drawn = static_cast<std::int32_t>(most - logits.begin());
    if (temperature >= 1e-6) {
      std::vector<double> weights;
      double sum = 0;
      for (const f32 value : logits)
        weights.push_back(sum += std::exp(static_cast<double>(value - *most) / temperature));
      // 53 random bits as a number in [0, 1): <random>'s distributions differ between libraries.
      const double place = static_cast<double>(engine() >> 11) * 0x1p-53 * sum;
      drawn = static_cast<std::int32_t>(std::ranges::upper_bound(weights, place) - weights.begin());
      drawn = std::min(drawn, static_cast<std::int32_t>(weights.size()) - 1);
    }
    tokens.push_back(drawn);
  }
  tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(given));
  return tokens;
}

}  // namespace precast::language_model

// What casting costs, and the plans made of it; parts of comparisons.
#include <casting/planner.hpp>
#include <cli/casting/cost_table.hpp>
#include <cli/compare/comparison_part.hpp>
#include <fuzz/target.hpp>

namespace precast::testing {

void fuzz_cost(std::span<const std::byte> input) {
  answer_or_refusal([&] {
    const casting::CostFile file = casting::parse_cost_file(as_text(input), "cost.json");
    if (casting::parse_cost_file(casting::cost_file_text(file), "again").layers.size() != file.layers.size())
      throw std::logic_error("a cost file does not read back");
    for (const casting::Measure measure : {casting::Measure::cost, casting::Measure::relative_loss}) {
      answer_or_refusal([&] { cli::cost_table(file, measure); });
      answer_or_refusal([&] { cli::weighted_cost_table(file, measure); });
    }
    casting::PlanRequest request;
    request.limits.seconds = 0.01;
    const auto planned = [&] { answer_or_refusal([&] { casting::make_plan(file, "cost.json", request); }); };
    request.bits = 5;
    planned();
    request.bits.reset();
    request.error = 1e-3;
    planned();
    request.error.reset();
    request.budget = 4000;
    planned();
  });
}

void fuzz_comparison_part(std::span<const std::byte> input) {
  answer_or_refusal([&] {
    const cli::ComparisonPart part = cli::parse_comparison_part(as_text(input), "part.json");
    const cli::ComparisonPart again = cli::parse_comparison_part(cli::comparison_part_text(part), "again");
    if (!cli::same_comparison(part, again) || part.rows.size() != again.rows.size())
      throw std::logic_error("a part of a comparison does not read back");
    const std::vector<cli::NamedPart> whole{{"part.json", part}};
    answer_or_refusal([&] {
      if (cli::merge_parts(whole).rows.size() != part.policies.size())
        throw std::logic_error("a policy of a comparison was lost");
    });
  });
}

void fuzz_plan(std::span<const std::byte> input) {
  answer_or_refusal([&] {
    const casting::Plan plan = casting::parse_plan(as_text(input), "plan.json");
    if (casting::parse_plan(casting::plan_text(plan), "again").types != plan.types)
      throw std::logic_error("a plan does not read back");
    for (const auto& [layer, type] : plan.types)
      if (plan.type_of(layer + ".weight") != type) throw std::logic_error("a layer has another type");
  });
}

}  // namespace precast::testing

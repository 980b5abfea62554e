// Tables of cost files, and cost files put together.
#include <limits>
#include <string>
#include <vector>

#include <casting/merge_costs.hpp>
#include <catch2/catch.hpp>
#include <cli/casting/cost_table.hpp>
#include <plots/table_text.hpp>

#include <precast/error.hpp>

namespace cost_tables {
namespace {

using namespace precast;
using namespace precast::casting;
using cli::cost_table, cli::weighted_cost_table, plots::as_csv, plots::as_markdown;

CostFile small_file() {
  CostFile file;
  file.layers = {{"transformer_blocks.0",
                  240,
                  {{"q8_0", {8.5, 61.301, 1, 0.5, 0.25}}, {"q4_0", {4.5, 183.73, 2, 1, 0.5}}}},
                 {"single_transformer_blocks.0",
                  100,
                  {{"q8_0", {8.5, 8.992, std::numeric_limits<double>::infinity(), 0, 0}}}}};
  return file;
}

std::string refusal(const std::vector<NamedCosts>& files) {
  try {
    merge_costs(files);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

LayerCost layer(const std::string& name, double cost) {
  return {name, 10, {{"q8_0", {8.5, cost, {}, {}, {}}}}};
}

}  // namespace

TEST_CASE("tables have the layers in rows and the formats in columns", "[casting]") {
  const CostFile file = small_file();
  CHECK(as_markdown(cost_table(file, Measure::cost)) ==
        "| layer | q8_0 | q4_0 |\n"
        "|---|--:|--:|\n"
        "| bits | 8.5 | 4.5 |\n"
        "| transformer_blocks.0 | 61.301 | 183.73 |\n"
        "| single_transformer_blocks.0 | 8.992 | |\n");
  // A double block has 2.4 times the parameters of a single one, here as in Flux.
  CHECK(as_csv(weighted_cost_table(file, Measure::cost)) ==
        "layer,q8_0,q4_0\n"
        "bits,8.5,4.5\n"
        "transformer_blocks.0,25.542,76.554\n"
        "single_transformer_blocks.0,8.992,\n");
  CHECK(cost_table(file, Measure::loss)[3][1] == "inf");
  CHECK(cost_table(file, Measure::relative_cost)[2][1] == "0.5");
  CHECK(cost_table(file, Measure::relative_loss)[2][1] == "0.25");
  CostFile odd = file;
  odd.layers[0].types["q8_0"].cost = -std::numeric_limits<double>::quiet_NaN();  // as inf - inf is
  CHECK(as_csv(cost_table(odd, Measure::cost)).find("transformer_blocks.0,nan,183.73") != std::string::npos);
  odd = file;
  odd.layers[0].name = "a, \"b\" | c";
  CHECK(as_csv(cost_table(odd, Measure::cost)).find("\"a, \"\"b\"\" | c\",61.301") != std::string::npos);
  CHECK(as_markdown(cost_table(odd, Measure::cost)).find("| a, \"b\" \\| c |") != std::string::npos);
  odd.layers[0].name = "<b>&amp;\\<b>";
  CHECK(as_markdown(cost_table(odd, Measure::cost)).find("| \\<b>\\&amp;\\\\\\<b> | 61.301 |") !=
        std::string::npos);
  odd.layers[0].name = "fwd & back &";
  CHECK(as_markdown(cost_table(odd, Measure::cost)).find("| fwd & back & | 61.301 |") != std::string::npos);
  odd.layers[0].name = "two\nlines\x1b[31m";
  CHECK(as_markdown(cost_table(odd, Measure::cost)).find("| two?lines?[31m | 61.301 |") != std::string::npos);
  odd.layers[1].parameters.reset();
  CHECK_THROWS_WITH(weighted_cost_table(odd, Measure::cost), Catch::Contains("single_transformer_blocks.0"));
  // A format without estimates has no column of them.
  odd = file;
  odd.layers[0].types["q4_0"].loss.reset();
  odd.layers[0].types["q4_0"].estimate = 3;
  CHECK(as_csv(cost_table(odd, Measure::loss)).starts_with("layer,q8_0,q4_0\nbits,8.5,4.5\n"));
  CHECK(as_csv(cost_table(odd, Measure::estimate)).starts_with("layer,q4_0\nbits,4.5\n"));
  CHECK_THROWS_WITH(cost_table(file, Measure::estimate),
                    Catch::Contains("no layer has a number for 'estimate'"));
  // Where fallbacks make layers differ, the mean of their bits by parameters.
  odd = file;
  odd.layers[1].types["q8_0"].bits = 16;
  CHECK(cost_table(odd, Measure::cost)[1][1] == "10.706");
}

TEST_CASE("cost files merge into the order of the model, and refuse what contradicts", "[casting]") {
  CostFile a, b, c;
  a.model = b.model = c.model = "m";
  a.samples = b.samples = c.samples = 4;
  a.layers = {layer("transformer_blocks.10", 1), layer("single_transformer_blocks.1", 2)};
  b.layers = {layer("transformer_blocks.2", 3)};
  c.layers = {layer("transformer_blocks.0", 4), layer("single_transformer_blocks.0", 5)};
  a.order = b.order = c.order = {"transformer_blocks.0", "transformer_blocks.2", "transformer_blocks.10",
                                 "single_transformer_blocks.0", "single_transformer_blocks.1"};
  for (const auto& order : std::vector<std::vector<NamedCosts>>{
           {{"a", a}, {"b", b}, {"c", c}}, {{"c", c}, {"b", b}, {"a", a}}, {{"b", b}, {"a", a}, {"c", c}}}) {
    std::vector<std::string> names;
    for (const LayerCost& each : merge_costs(order).layers) names.push_back(each.name);
    CHECK(names == a.order);
  }
  CHECK(merge_costs(std::vector<NamedCosts>{{"a", a}, {"again", a}}) == a);
  CostFile part = a, rest = b;  // each says what it lacks of the whole
  part.missing = {"transformer_blocks.0", "transformer_blocks.2", "single_transformer_blocks.0"};
  rest.missing = {"transformer_blocks.0", "transformer_blocks.10", "single_transformer_blocks.0",
                  "single_transformer_blocks.1"};
  CHECK(merge_costs(std::vector<NamedCosts>{{"a", part}, {"b", rest}}).missing ==
        std::vector<std::string>{"transformer_blocks.0", "single_transformer_blocks.0"});
  CHECK(merge_costs(std::vector<NamedCosts>{{"a", part}, {"b", rest}, {"c", c}}).missing.empty());
  CostFile none = a;
  none.layers = {layer("transformer_blocks.2", 1)};
  none.missing = {"single_transformer_blocks.0", "transformer_blocks.0"};
  CHECK(merge_costs(std::vector<NamedCosts>{{"a", part}, {"none", none}}).missing ==
        std::vector<std::string>{"transformer_blocks.0", "single_transformer_blocks.0"});
  CostFile matrices = a, later = a;  // which are in no order of names
  matrices.layers = {layer("blocks.0.norm1.linear", 1), layer("blocks.0.attn.to_out.0", 2),
                     layer("blocks.0.attn.to_k", 3), layer("blocks.10.norm1.linear", 4)};
  later.layers = {layer("blocks.2.norm1.linear", 5), layer("blocks.2.attn.to_k", 6)};
  matrices.order =
      later.order = {"blocks.0.norm1.linear", "blocks.0.attn.to_out.0", "blocks.0.attn.to_k",
                     "blocks.2.norm1.linear", "blocks.2.attn.to_k",     "blocks.10.norm1.linear"};
  CostFile whole = matrices;
  whole.layers.insert(whole.layers.begin() + 3, later.layers.begin(), later.layers.end());
  CHECK(merge_costs(std::vector<NamedCosts>{{"a", matrices}, {"b", later}}) == whole);
  CHECK(merge_costs(std::vector<NamedCosts>{{"b", later}, {"a", matrices}}) == whole);
  CostFile by_hand = a, also_by_hand = b;  // without an order, that of the files
  by_hand.order.clear();
  also_by_hand.order.clear();
  CHECK(merge_costs(std::vector<NamedCosts>{{"a", by_hand}, {"b", also_by_hand}}).layers.back().name ==
        "transformer_blocks.2");
  CostFile lost = a;  // NaN is what was measured, in both
  lost.layers[0].types["q8_0"].cost = std::numeric_limits<double>::quiet_NaN();
  CHECK(merge_costs(std::vector<NamedCosts>{{"a", lost}, {"again", lost}}) == lost);
  CHECK_THAT(refusal({{"one.json", a}, {"two.json", lost}}), Catch::Contains("the numbers of layer"));
  CostFile more = a;
  more.layers[0].types = {{"q4_0", {4.5, 9, {}, {}, {}}}};
  CHECK(merge_costs(std::vector<NamedCosts>{{"a", a}, {"more", more}}).layers[0].types.size() == 2);

  // A number that one of them lacks is the other's, and one that both have is the same.
  CostFile with_estimate = a;
  with_estimate.estimates = "importance 1";
  with_estimate.layers[0].types["q8_0"].estimate = 9;
  CHECK(merge_costs(std::vector<NamedCosts>{{"a", a}, {"b", with_estimate}}) == with_estimate);
  CHECK(merge_costs(std::vector<NamedCosts>{{"b", with_estimate}, {"a", a}}) == with_estimate);
  CostFile only_estimate = with_estimate;
  only_estimate.layers[0].types["q8_0"].cost.reset();
  CHECK(merge_costs(std::vector<NamedCosts>{{"b", only_estimate}, {"a", a}}) == with_estimate);
  CostFile contradicts = with_estimate;
  contradicts.layers[0].types["q8_0"].estimate = 8;
  CHECK_THAT(refusal({{"one.json", a}, {"two.json", with_estimate}, {"three.json", contradicts}}),
             Catch::Contains("two.json and three.json differ in the numbers of layer") &&
                 Catch::Contains("transformer_blocks.10") && Catch::Contains("q8_0"));

  CostFile other = a;
  other.layers[1].types["q8_0"].cost = 7;
  CHECK_THAT(refusal({{"one.json", a}, {"two.json", other}}),
             Catch::Contains("one.json and two.json") && Catch::Contains("single_transformer_blocks.1") &&
                 Catch::Contains("q8_0"));
  other = a;
  other.layers[0].parameters = 11;
  CHECK_THAT(refusal({{"one.json", a}, {"two.json", other}}), Catch::Contains("parameters"));
  for (const char* what : {"model", "samples", "settings"}) {
    other = b;
    if (what[0] == 'm') other.model = "n";
    if (what[1] == 'a') other.samples = 5;
    if (what[1] == 'e') other.settings = CostConditions{.granularity = "else"};
    CHECK_THAT(refusal({{"one.json", a}, {"two.json", other}}), Catch::Contains(what));
  }

  // Estimates of one importance go with measured numbers alone, and with none of another or of nobody knows
  // which.
  CostFile estimated = b;
  estimated.layers[0].types["q8_0"].estimate = 1;
  estimated.estimates = "importance 1";
  CHECK(merge_costs(std::vector<NamedCosts>{{"a", a}, {"b", estimated}}).estimates == "importance 1");
  CHECK(merge_costs(std::vector<NamedCosts>{{"b", estimated}, {"a", a}}).estimates == "importance 1");
  CostFile another = c;
  another.layers[0].types["q8_0"].estimate = 1;
  CHECK_THAT(refusal({{"one.json", a}, {"two.json", estimated}, {"three.json", another}}),
             Catch::Contains("two.json and three.json differ in \"estimates\""));
  another.estimates = "importance 2";
  CHECK_THAT(refusal({{"two.json", estimated}, {"three.json", another}}), Catch::Contains("\"estimates\""));
  another.estimates = estimated.estimates;
  CHECK(merge_costs(std::vector<NamedCosts>{{"b", estimated}, {"c", another}}).estimates == "importance 1");
}

}  // namespace cost_tables

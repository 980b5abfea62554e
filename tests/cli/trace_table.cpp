// For every policy that is compiled in: what ran is what the op table says.
#include <algorithm>
#include <set>

#include <catch2/catch.hpp>
#include <cli/options/policy_table.hpp>
#include <flux/pipeline.hpp>
#include <support/dtype_names.hpp>

#include <precast/policy/visit.hpp>
#include <precast/watch/trace.hpp>

using namespace precast;

TEST_CASE("the trace agrees with the op table under every compiled policy", "[watch]") {
  families::Request request;
  request.prompts = {"a blue ring"};
  request.steps = 1;
  request.width = request.height = 16;
  request.max_sequence_length = 8;
  for_each_path([&](auto path) {
    constexpr PolicyChoice choice = decltype(path)::choice;
    INFO(to_string(choice));
    const auto table = cli::op_rows(choice);
    const flux::FluxPipeline pipeline(PRECAST_SOURCE_DIR "/tests/golden/models/dev_f32",
                                      families::ComponentChoices::all(choice));
    watch::Trace trace;
    {
      const watch::Watching watching(trace);
      pipeline.generate(request);
    }
    std::set<std::string_view> seen;
    std::set<std::string> components;
    int wrong = 0;
    for (const watch::OpRecord& record : trace.records()) {
      seen.insert(record.op);
      components.insert(record.path.substr(0, record.path.find('.')));
      const auto row =
          std::find_if(table.begin(), table.end(), [&](const auto& r) { return r.op == record.op; });
      REQUIRE(row != table.end());
      if (record.dtypes != row->dtypes && wrong++ < 5)
        FAIL_CHECK(record.path << " (" << record.function << "): " << record.op << " ran as "
                               << Catch::StringMaker<DtypeNames>::convert(record.dtypes)
                               << ", the table says "
                               << Catch::StringMaker<DtypeNames>::convert(row->dtypes));
    }
    for (const std::string_view op : {"Matmul", "Conv", "Attention", "Norm", "Pointwise", "Position"})
      CHECK(seen.count(op) == 1);
    CHECK(components == std::set<std::string>{"text_encoder", "text_encoder_2", "transformer", "vae"});
  });
}

// Casting cost on the embedded model: what the numbers are, and that they mean something.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <casting/cast_source.hpp>
#include <casting/measure.hpp>
#include <casting/merge_costs.hpp>
#include <catch2/catch.hpp>
#include <cluster/launch.hpp>
#include <flux/accounting.hpp>
#include <flux/pipeline.hpp>
#include <formats/fitting.hpp>
#include <formats/registry.hpp>
#include <support/arrays.hpp>
#include <support/golden_requests.hpp>
#include <support/memory_source.hpp>

#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/quant/by_name.hpp>
#include <precast/quant/scaled_rows.hpp>
#include <precast/tensor/stored_matrix.hpp>

namespace measured_costs {
namespace {

using namespace precast;
using namespace precast::casting;
using namespace precast::testing;
using families::RecordedState;

const std::string shapes = std::string(PRECAST_SOURCE_DIR) + "/reference_pipeline/shapes/model";

const flux::FluxPipeline& pipeline() {
  static const flux::FluxPipeline opened(shapes, flux::ComponentChoices::all(f32_choices().front()));
  return opened;
}

/// Every fourth of eight steps of each prompt.
std::vector<RecordedState> recorded(const std::vector<std::string>& prompts, std::uint64_t seed) {
  flux::Request request;
  request.prompts = prompts;
  request.seed = seed;
  std::vector<RecordedState> states;
  pipeline().record(request, {4, [&](RecordedState state) { states.push_back(std::move(state)); }});
  return states;
}

const std::vector<RecordedState>& two_samples() {
  static const auto samples = recorded({"a large red circle on a blue background, at the left"}, 1);
  return samples;
}

std::vector<std::int64_t> all_layers(const families::Blocks& blocks) {
  std::vector<std::int64_t> layers;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(blocks.list().size()); ++i) layers.push_back(i);
  return layers;
}

CostSettings settings_of(std::vector<std::string> types, std::vector<std::int64_t> layers) {
  CostSettings settings;
  settings.types = std::move(types);
  settings.layers = std::move(layers);
  return settings;
}

CostFile measured(families::Blocks& blocks, const std::vector<RecordedState>& samples,
                  const CostSettings& settings) {
  return measure_cost(blocks, samples, settings, {}, {}, [](const CostFile&) {});
}

double mean_squared_difference(const HostTensor<f32>& a, const HostTensor<f32>& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i)
    sum += std::pow(static_cast<double>(a.data()[i]) - static_cast<double>(b.data()[i]), 2);
  return sum / static_cast<double>(a.elements());
}

}  // namespace

TEST_CASE("states are recorded at every Nth step, whichever others are", "[casting]") {
  flux::Request request;
  request.prompts = {"a red circle", "a blue star"};
  request.steps = 5;
  const auto record = [&](std::int64_t every) {
    std::vector<RecordedState> states;
    pipeline().record(request, {every, [&](RecordedState state) { states.push_back(std::move(state)); }});
    return states;
  };
  const auto all = record(1), some = record(2);
  REQUIRE(all.size() == 10);
  REQUIRE(some.size() == 6);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].picture == static_cast<std::int64_t>(i / 5));
    CHECK(all[i].step == static_cast<std::int64_t>(i % 5));
    if (all[i].step > 0) CHECK(all[i].timestep < all[i - 1].timestep);
  }
  for (std::size_t i = 0; i < some.size(); ++i) {
    const RecordedState& same = all[i / 3 * 5 + i % 3 * 2];
    CHECK(some[i].step == same.step);
    CHECK(some[i].timestep == same.timestep);
    CHECK(same_bits(some[i].state.hidden, same.state.hidden));
    CHECK(same_bits(some[i].state.vec, same.state.vec));
    CHECK(same_bits(some[i].state.positions, same.state.positions));
  }
  CHECK_FALSE(same_bits(all[0].state.vec, all[1].state.vec));  // another time
  CHECK_THROWS_AS(record(0), families::RequestError);
}

TEST_CASE("a cast layer's numbers are those of whole runs with its matrices decoded from what they encode to",
          "[casting]") {
  const auto blocks = pipeline().load_blocks();
  const auto count = static_cast<std::int64_t>(blocks->list().size());
  REQUIRE(count == 6);
  const CostFile file = measured(*blocks, two_samples(), settings_of({"q4_0"}, {1, 3, 5}));
  REQUIRE(file.layers.size() == 3);
  const flux::Accounting accounting =
      flux::account(flux::TransformerConfig::load(shapes + "/transformer/config.json"));
  for (const std::int64_t layer : {1, 3, 5}) {
    const families::Block& block = blocks->list()[static_cast<std::size_t>(layer)];
    const LayerCost& numbers = file.layers[static_cast<std::size_t>(layer / 2)];
    CHECK(numbers.name == block.name);
    CHECK(numbers.parameters ==
          (layer < 2 ? accounting.double_block_weights : accounting.single_block_weights));
    double cost = 0, loss = 0, reference = 0, own = 0;
    for (const RecordedState& sample : two_samples()) {
      families::BlockState plain = sample.state.clone(), cast = sample.state.clone();
      blocks->run(plain, 0, layer + 1);
      const HostTensor<f32> plain_output = plain.hidden.clone();
      blocks->run(plain, layer + 1, count);
      CastSource source(blocks->source());
      std::int64_t parameters = 0;
      for (const families::BlockParameter& parameter : block.parameters)
        if (parameter.shape.rank() == 2) {
          CHECK(source.cast(parameter, "q4_0").name == "q4_0");
          parameters += parameter.shape.elements();
        }
      CHECK(numbers.parameters == parameters);
      blocks->run(cast, 0, layer);
      blocks->replace(layer, source);
      blocks->run(cast, layer, layer + 1);
      loss += mean_squared_difference(cast.hidden, plain_output) / 2;
      blocks->run(cast, layer + 1, count);
      cost += mean_squared_difference(cast.hidden, plain.hidden) / 2;
      blocks->replace(layer, blocks->source());
      const HostTensor<f32> zero = filled<f32>(plain.hidden.shape(), 0);
      reference += mean_squared_difference(plain.hidden, zero) / 2;
      own += mean_squared_difference(plain_output, zero) / 2;
    }
    const TypeCost& found = numbers.types.at("q4_0");
    CHECK(found.bits == 4.5);
    CHECK(*found.cost == Approx(cost).epsilon(1e-12));
    CHECK(*found.loss == Approx(loss).epsilon(1e-12));
    CHECK(*found.relative_cost == Approx(cost / reference).epsilon(1e-12));
    CHECK(*found.relative_loss == Approx(loss / own).epsilon(1e-12));
    CHECK(*found.cost > 0);
    if (layer == 5) CHECK(found.cost == found.loss);  // after the last block there is nothing
  }
}

TEST_CASE("casting to the dtype that weights have costs nothing at all, and to fewer bits something",
          "[casting]") {
  const auto blocks = pipeline().load_blocks();
  CostSettings settings = settings_of({"bf16", "f32", "fp8_e4m3"}, all_layers(*blocks));
  for (const bool biases : {false, true}) {
    settings.biases = biases;
    const CostFile file = measured(*blocks, two_samples(), settings);
    REQUIRE(file.layers.size() == 6);
    for (const LayerCost& layer : file.layers) {
      INFO(layer.name);
      for (const char* exact : {"bf16", "f32"})
        CHECK(layer.types.at(exact) == TypeCost{exact[0] == 'b' ? 16 : 32, 0, 0, 0, 0});
      CHECK(layer.types.at("fp8_e4m3").cost > 0);
    }
  }
}

TEST_CASE("casts reach matrices, biases on wish, and never a norm scale", "[casting]") {
  const auto blocks = pipeline().load_blocks();
  std::map<families::BlockParameterRole, int> roles;
  for (const families::Block& block : blocks->list())
    for (const families::BlockParameter& parameter : block.parameters) {
      ++roles[parameter.role];
      CHECK((parameter.role == families::BlockParameterRole::matrix) == (parameter.shape.rank() == 2));
    }
  CHECK(roles[families::BlockParameterRole::matrix] == 2 * 14 + 4 * 6);
  CHECK(roles[families::BlockParameterRole::bias] == 2 * 14 + 4 * 6);
  CHECK(roles[families::BlockParameterRole::norm_scale] == 2 * 4 + 4 * 2);

  CostSettings settings = settings_of({"q4_0"}, {0});
  const CostFile without = measured(*blocks, two_samples(), settings);
  settings.biases = true;
  const CostFile with = measured(*blocks, two_samples(), settings);
  CHECK(*with.layers[0].parameters > *without.layers[0].parameters);
  CHECK(with.layers[0].types.at("q4_0").cost != without.layers[0].types.at("q4_0").cost);

  settings.biases = false;
  settings.granularity = Granularity::matrix;
  const CostFile matrices = measured(*blocks, two_samples(), settings);
  REQUIRE(matrices.layers.size() == 14);
  std::int64_t parameters = 0;
  double sum = 0;
  for (const LayerCost& matrix : matrices.layers) {
    CHECK(matrix.name.starts_with("transformer_blocks.0."));
    parameters += *matrix.parameters;
    sum += *matrix.types.at("q4_0").cost;
  }
  CHECK(parameters == *without.layers[0].parameters);
  // Small independent errors add up; twice is far from what one matrix alone or a square of the sum would
  // give.
  CHECK(sum < 2 * *without.layers[0].types.at("q4_0").cost);
  CHECK(sum > 0.5 * *without.layers[0].types.at("q4_0").cost);
}

TEST_CASE("what was measured is kept: interrupted, sharded or with more formats, the numbers are the same",
          "[casting]") {
  struct Stopped {};
  const auto blocks = pipeline().load_blocks();
  const auto& samples = two_samples();
  const CostFile whole = measured(*blocks, samples, settings_of({"q5_0", "q8_0"}, all_layers(*blocks)));

  CostFile kept;
  const CostSettings settings = settings_of({"q5_0", "q8_0"}, all_layers(*blocks));
  CHECK_THROWS_AS(measure_cost(*blocks, samples, settings, {}, {},
                               [&](const CostFile& so_far) {
                                 kept = so_far;
                                 if (so_far.layers.size() == 2) throw Stopped{};
                               }),
                  Stopped);
  REQUIRE(kept.layers.size() == 2);
  CHECK(kept.missing.size() == 4);
  const auto again = pipeline().load_blocks();
  std::size_t layers = 0;
  CHECK(measure_cost(*again, samples, settings, kept, {}, [&](const CostFile&) { ++layers; }) == whole);
  CHECK(layers == 4);  // the two that were there are not measured again
  CHECK(measure_cost(*again, samples, settings, whole, {}, [&](const CostFile&) { FAIL("all is there"); }) ==
        whole);

  const CostFile one = measured(*again, samples, settings_of({"q8_0"}, all_layers(*again)));
  CHECK(measure_cost(*again, samples, settings, one, {}, [](const CostFile&) {}) == whole);

  std::vector<NamedCosts> shards;
  for (const std::int64_t index : {2, 0, 1}) {
    CostSettings part =
        settings_of({"q5_0", "q8_0"}, cluster::SweepPart{index, 3}.places(std::ssize(again->list())));
    part.whole = all_layers(*again);
    shards.push_back({"shard " + std::to_string(index), measured(*again, samples, part)});
  }
  CHECK(shards[0].file.layers.size() == 2);
  CHECK(shards[0].file.missing.size() == 4);
  CHECK(merge_costs(std::span(shards).first(2)).missing ==
        std::vector<std::string>{whole.layers[1].name, whole.layers[4].name});
  CHECK(merge_costs(shards) == whole);

  // Backwards, and without what lies between: each layer's run begins with its own prefix.
  const CostFile last = measured(*again, samples, settings_of({"q5_0", "q8_0"}, {4}));
  REQUIRE(last.layers.size() == 1);
  CHECK(last.layers[0] == whole.layers[4]);
  CHECK(measure_cost(*again, samples, settings_of({"q5_0", "q8_0"}, {0, 1, 2, 3, 5}), last, {},
                     [](const CostFile&) {}) == whole);
}

TEST_CASE("of matrices each is kept as it is measured, and not only with the last of its block",
          "[casting]") {
  struct Stopped {};
  const auto blocks = pipeline().load_blocks();
  CostSettings settings = settings_of({"q5_0"}, {0, 5});
  settings.granularity = Granularity::matrix;
  const CostFile whole = measured(*blocks, two_samples(), settings);
  REQUIRE(whole.layers.size() > 3);
  CostFile kept;
  CHECK_THROWS_AS(measure_cost(*blocks, two_samples(), settings, {}, {},
                               [&](const CostFile& so_far) {
                                 kept = so_far;
                                 if (so_far.layers.size() == 3) throw Stopped{};
                               }),
                  Stopped);
  REQUIRE(kept.layers.size() == 3);
  const auto again = pipeline().load_blocks();
  std::size_t calls = 0;
  CHECK(measure_cost(*again, two_samples(), settings, kept, {}, [&](const CostFile&) { ++calls; }) == whole);
  CHECK(calls == whole.layers.size() - 3);

  settings.whole = settings.layers;
  std::vector<NamedCosts> shards;
  for (const std::int64_t layer : {5, 0}) {
    settings.layers = {layer};
    shards.push_back({std::to_string(layer), measured(*again, two_samples(), settings)});
  }
  CHECK(merge_costs(shards) == whole);
  // Of a block of which each file has some matrices, too.
  CostFile odd = whole, even = whole;
  odd.layers.clear(), even.layers.clear();
  for (std::size_t i = 0; i < whole.layers.size(); ++i)
    (i % 2 ? odd : even).layers.push_back(whole.layers[i]);
  CHECK(merge_costs(std::vector<NamedCosts>{{"odd", odd}, {"even", even}}) == whole);
}

TEST_CASE("numbers of casting are the same for any number of threads", "[casting]") {
  const auto blocks = pipeline().load_blocks();
  const CostSettings settings = settings_of({"q4_k", "fp8_e5m2"}, {1, 4});
  const auto with = [&](int count) {
    const Threads threads(count);
    return measured(*blocks, two_samples(), settings);
  };
  const CostFile one = with(1);
  CHECK(with(2) == one);
  CHECK(with(5) == one);
}

TEST_CASE("cost falls with bits in nearly every layer of the embedded model, on whichever samples",
          "[casting][many_runs]") {
  const auto blocks = pipeline().load_blocks();
  const std::vector<std::string> falling{"q8_0", "q5_1", "q5_0", "q4_1", "q4_0"};
  const std::array<std::vector<RecordedState>, 2> sets{
      recorded(
          {"a large red circle on a blue background, at the left", "a small green star on a black background",
           "a large yellow cross on a green background, at the top",
           "a small blue square on a grey background"},
          1),
      recorded({"a large yellow square on a white background",
                "a large purple ring at the top of a grey background",
                "a small orange triangle on a blue background, at the right",
                "a small red star on a white background"},
               2)};
  std::vector<CostFile> files;
  for (const auto& samples : sets)
    files.push_back(measured(*blocks, samples, settings_of(falling, all_layers(*blocks))));
  int steps = 0, rising = 0;
  for (const CostFile& file : files)
    for (const LayerCost& layer : file.layers)
      for (std::size_t i = 0; i + 1 < falling.size(); ++i, ++steps)
        rising += *layer.types.at(falling[i]).cost >= *layer.types.at(falling[i + 1]).cost;
  INFO(rising << " of " << steps << " steps to fewer bits do not raise the cost");
  REQUIRE(steps == 48);
  CHECK(rising <= steps / 10);
  // Nor does any layer cost more in 8.5 bits than in 4.5.
  for (const CostFile& file : files)
    for (const LayerCost& layer : file.layers)
      CHECK(*layer.types.at("q8_0").cost * 10 < *layer.types.at("q4_0").cost);

  // Eight samples of four prompts say a layer's cost to a factor of 2, in the median; formats differ a
  // hundredfold.
  std::vector<double> factors;
  for (std::size_t i = 0; i < files[0].layers.size(); ++i)
    for (const std::string& type : falling)
      factors.push_back(std::exp(std::fabs(std::log(*files[0].layers[i].types.at(type).relative_cost /
                                                    *files[1].layers[i].types.at(type).relative_cost))));
  std::ranges::sort(factors);
  INFO("from " << factors.front() << " to " << factors.back());
  CHECK(factors[factors.size() / 2] < 2);
}

TEST_CASE("a format that rows do not divide gives way to the smallest that does and is no smaller",
          "[casting]") {
  const auto taken_for = [](const char* wanted, std::int64_t columns, std::int64_t rows = 32) {
    const auto type = formats::fitting_type(*formats::find_type(wanted), {rows, columns});
    return type ? std::string(type->name) : "as it is";
  };
  CHECK(taken_for("q4_k", 256) == "q4_k");
  CHECK(taken_for("q6_k", 128) == "q8_0");
  CHECK(taken_for("q5_k", 128) == "q5_0");
  CHECK(taken_for("q4_k", 640) == "iq4_nl");
  for (const char* small : {"q3_k", "q2_k", "iq4_xs", "nvfp4"}) CHECK(taken_for(small, 96) == "iq4_nl");
  CHECK(taken_for("q4_k", 100) == "as it is");
  CHECK(taken_for("q8_0", 16) == "as it is");
  CHECK(taken_for("nvfp4", 64) == "nvfp4");
  CHECK(taken_for("fp8_e4m3", 7) == "fp8_e4m3");
  CHECK(taken_for("int8_row", 7) == "int8_row");
  // As convert has it: files have its scales in the order of tensor cores.
  CHECK(taken_for("mxfp8", 64) == "mxfp8");
  CHECK(taken_for("mxfp8", 64, 48) == "as it is");
  // Of files that hold nvfp4, safetensors alone takes whole tiles.
  CHECK(taken_for("nvfp4", 64, 8) == "nvfp4");
  CHECK_FALSE(formats::in_whole_tiles(*formats::format_named("nvfp4"), {8, 64}));
  CHECK(formats::in_whole_tiles(*formats::format_named("nvfp4"), {16, 64}));
  CHECK(formats::fitting_type(*formats::find_type("int8_row"), {3, 7}) == DtypeInfo{"int8_row", 7, 15});
  // Files have scales beside matrices alone, and no blocks of a convolution's rows.
  for (const Shape& shape : {Shape{32, 32, 3, 3}, Shape{32, 32, 1, 1}, Shape{32}})
    for (const char* scaled : {"int8_row", "fp8_e4m3_row", "fp8_e5m2_tensor", "mxfp8"}) {
      INFO(scaled << " of " << to_string(shape));
      CHECK_FALSE(formats::fitting_type(*formats::find_type(scaled), shape));
    }
  for (const char* type : {"fp8_e4m3", "f16"})
    CHECK(formats::fitting_type(*formats::find_type(type), {32, 32, 3, 3}) == formats::find_type(type));
  CHECK_FALSE(formats::fitting_type(*formats::find_type("q8_0"), {32, 32, 3, 3}));

  const HostTensor<f32> values = random_tensor<f32>({3, 64}, 7);
  MemorySource source;
  source.add<f32>("a", {3, 64}, values.values());
  for (const formats::StoredFormat& type : formats::all_formats()) {
    INFO(type.name);
    CastSource cast(source);
    const auto taken =
        cast.cast({"a", {3, 64}, dtype_info<f32>, families::BlockParameterRole::matrix}, type.name).name;
    const nn::Parameter found = cast.find("a");
    REQUIRE(found.dtype == dtype_info<f32>);
    REQUIRE(found.bytes.size() == 3 * 64 * sizeof(f32));
    std::vector<f32> expected(values.values().begin(), values.values().end()), got(3 * 64);
    std::memcpy(got.data(), found.bytes.data(), found.bytes.size());
    const bool scalar = any_dtype(ScalarDtypes{}, [&]<class T>() {
      if (dtype_traits<T>::name != taken) return false;
      for (f32& value : expected) value = convert<f32>(convert<T>(value));
      return true;
    });
    const bool rows = visit_scaled_row_dtype(taken, [&]<class Format>(std::type_identity<Format>) {
      std::vector<std::byte> encoded(3 * (8 + 64));
      quant::encode_rows<Format>(expected, 64, encoded);
      for (std::size_t r = 0; r < 3; ++r)
        decode_run<Format>(reinterpret_cast<const Format*>(encoded.data() + r * (8 + 64)), 0, 64,
                           expected.data() + r * 64);
    });
    if (!scalar && !rows) {
      std::vector<std::byte> blocks(
          static_cast<std::size_t>(3 * 64 * formats::format_named(taken)->bits / 8));
      quant::encode(taken, expected, blocks);
      quant::decode(taken, blocks, expected);
    }
    CHECK(got == expected);
  }
  source.add<f32>("c", {4, 16}, values.values().first(64));
  CastSource odd(source);
  const families::BlockParameter c{"c", {4, 16}, dtype_info<f32>, families::BlockParameterRole::matrix};
  CHECK(odd.cast(c, "q8_0") == dtype_info<f32>);  // what no block divides stays as it is
  CHECK(std::ranges::equal(odd.find("c").bytes, source.find("c").bytes));
  CHECK_THROWS_WITH(odd.cast(c, "q9_9"), Catch::Contains("q9_9") && Catch::Contains("q4_k"));

  const std::vector<f32> infinite(64, INFINITY);
  source.add<f32>("b", {1, 64}, infinite);
  CastSource cast(source);
  const families::BlockParameter b{"b", {1, 64}, dtype_info<f32>, families::BlockParameterRole::matrix};
  CHECK_THROWS_WITH(cast.cast(b, "q8_0"), Catch::Contains("'b'") && Catch::Contains("infinite"));
}

TEST_CASE("a cast to the format that a matrix is stored in leaves its blocks as they are", "[casting]") {
  const HostTensor<f32> values = random_tensor<f32>({3, 256}, 8);
  for (const BlockFormat& format : block_formats)
    visit_block_format(format.info.name, [&]<class Format>(std::type_identity<Format>) {
      INFO(format.info.name);
      BlockMatrix<Format, HostMemory> stored(Shape{3, 256});
      quant::encode<Format>(
          values.values(),
          std::span(stored.data(), static_cast<std::size_t>(3 * 256 / format.info.values_per_block)));
      MemorySource source;
      source.add<Format>("a", {3, 256}, stored.view());
      const families::BlockParameter a{"a", {3, 256}, format.info, families::BlockParameterRole::matrix};
      CastSource cast(source);
      for (const char* before : {"f16", format.info.name.data()}) {
        cast.cast(a, before);
        CHECK(cast.cast(a, format.info.name) == format.info);
        CHECK(cast.find("a").dtype == format.info);
        CHECK(std::ranges::equal(cast.find("a").bytes, source.find("a").bytes));
      }
    });
}

TEST_CASE("rows under one scale are rows under scales already, as convert moves them", "[casting]") {
  const HostTensor<f32> values = random_tensor<f32>({3, 64}, 9);
  MemorySource source;
  source.add<f32>("a", {3, 64}, values.values());
  const auto stays = [&](std::string_view stored, std::string_view type) {
    CastSource cast(source);
    const DtypeInfo taken =
        cast.cast({"a", {3, 64}, scaled_row_info(stored, 64), families::BlockParameterRole::matrix}, type);
    CHECK(taken == scaled_row_info(type, 64));  // a scale a row, which convert writes
    return std::ranges::equal(cast.find("a").bytes, source.find("a").bytes);
  };
  CHECK(stays("fp8_e4m3_tensor", "fp8_e4m3_row"));
  CHECK(stays("fp8_e5m2_tensor", "fp8_e5m2_row"));
  CHECK_FALSE(stays("fp8_e4m3_row", "fp8_e4m3_tensor"));
  CHECK_FALSE(stays("fp8_e4m3_tensor", "fp8_e5m2_row"));
  CHECK_FALSE(stays("fp8_e4m3_tensor", "int8_row"));
}

TEST_CASE("rows under scales are counted as files have them", "[casting]") {
  const Shape shape{3, 64};
  const double codes = 8 * 3 * 64;
  CHECK(formats::bits_in_file(scaled_row_info("int8_row", 64), shape) == codes + 3 * 32);
  CHECK(formats::bits_in_file(scaled_row_info("fp8_e4m3_row", 64), shape) == codes + 3 * 32);
  CHECK(formats::bits_in_file(scaled_row_info("fp8_e4m3_tensor", 64), shape) == codes + 32);
  CHECK(formats::bits_in_file(*formats::find_type("q8_0"), shape) == 8.5 * 3 * 64);

  const auto blocks = pipeline().load_blocks();
  const CostFile file =
      measured(*blocks, two_samples(), settings_of({"fp8_e5m2_row", "fp8_e5m2_tensor"}, {5}));
  const LayerCost& layer = file.layers.front();
  // What convert writes of this block: rows of 640, 128 and 128 values, of five matrices.
  double rows = 0, matrices = 0;
  for (const families::BlockParameter& parameter : blocks->list()[5].parameters)
    if (parameter.role == families::BlockParameterRole::matrix) rows += parameter.shape[0], ++matrices;
  const auto count = static_cast<double>(*layer.parameters);
  CHECK(layer.types.at("fp8_e5m2_row").bits == Approx(8 + 32 * rows / count).epsilon(1e-14));
  CHECK(layer.types.at("fp8_e5m2_tensor").bits == Approx(8 + 32 * matrices / count).epsilon(1e-14));
}

TEST_CASE("a layer patched in from other weights has their matrices and their biases", "[casting]") {
  const auto blocks = pipeline().load_blocks();
  // The other weights: this model's, in q5_0, with biases in fp8.
  CastSource other(blocks->source());
  for (const families::Block& block : blocks->list())
    for (const families::BlockParameter& parameter : block.parameters)
      if (parameter.role != families::BlockParameterRole::norm_scale)
        other.cast(parameter, parameter.role == families::BlockParameterRole::matrix ? "q5_0" : "fp8_e4m3");
  CostSettings settings = settings_of({"q5_0"}, {0, 5});
  settings.patch = &other;
  settings.patched_type = "q5_0*";
  const CostFile file = measured(*blocks, two_samples(), settings);
  REQUIRE(file.layers.size() == 2);
  for (const LayerCost& layer : file.layers) {
    REQUIRE(layer.types.size() == 2);
    CHECK(layer.types.at("q5_0*").bits == 32);  // that source holds f32
    CHECK(layer.types.at("q5_0*").cost > 0);
    CHECK(layer.types.at("q5_0*").cost != layer.types.at("q5_0").cost);  // for the biases
  }
  CostSettings plain = settings_of({}, {0});
  CastSource same(blocks->source());
  plain.patch = &same;
  plain.patched_type = "same*";
  CHECK(measured(*blocks, two_samples(), plain).layers[0].types.at("same*").cost == 0);
}

}  // namespace measured_costs

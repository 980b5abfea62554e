// Component folders: one file or shards, found as diffusers and transformers find them, and never outside the
// folder.
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <io/input_errors.hpp>
#include <support/temporary_folder.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <precast/io/checkpoint.hpp>
#include <precast/io/component_source.hpp>
#include <precast/io/find_weights.hpp>
#include <precast/io/write_gguf.hpp>
#include <precast/io/write_safetensors.hpp>
#include <precast/tensor/tensor.hpp>

using namespace precast;
using precast::testing::refusal;
using precast::testing::TemporaryFolder;
using precast::testing::write_text;

namespace {

void write_tensor(const std::filesystem::path& file, const std::string& name, f32 value) {
  const std::vector<f32> values(4, value);
  const Tensor<f32> tensor(Shape{2, 2}, std::span(values));
  const io::NamedTensor named{name, tensor};
  io::write_safetensors(file, std::span(&named, 1));
}

f32 first_value(const nn::Parameter& parameter) {
  f32 value = 0;
  std::memcpy(&value, parameter.bytes.data(), sizeof value);
  return value;
}

void expect(const std::string& message, const std::string& words) {
  INFO(message);
  CHECK(message.find(words) != std::string::npos);
}

}  // namespace

TEST_CASE("component: a single file, by folder and by path") {
  const TemporaryFolder folder;
  write_tensor(folder.path() / "diffusion_pytorch_model.safetensors", "a", 1);
  for (const std::filesystem::path& path :
       {folder.path(), folder.path() / "diffusion_pytorch_model.safetensors"}) {
    std::size_t taken = 0;
    const io::ComponentSource source(path, [&](std::size_t bytes) { taken += bytes; });
    CHECK(source.contains("a"));
    CHECK_FALSE(source.contains("b"));
    CHECK(source.has_names_beginning("a"));
    CHECK(source.has_names_beginning(""));
    for (const char* start : {"A", "aa", "b"}) CHECK_FALSE(source.has_names_beginning(start));
    const nn::Parameter parameter = source.find("a");
    CHECK(parameter.dtype == dtype_info<f32>);
    CHECK(parameter.shape == Shape{2, 2});
    CHECK(first_value(parameter) == 1);
    source.taken(parameter.bytes.size());
    CHECK(taken == 16);
    CHECK(source.description() == path.string());
    expect(refusal(path, [&] { source.find("b"); }), "tensor 'b': is missing");
  }
}

TEST_CASE("component: where both forms are, each library's own choice") {
  const TemporaryFolder folder;
  write_tensor(folder.path() / "single.safetensors", "a", 1);
  write_tensor(folder.path() / "shard.safetensors", "a", 2);
  const auto value = [&](const std::string& stem) {
    const TemporaryFolder component;
    std::filesystem::copy(folder.path() / "single.safetensors", component.path() / (stem + ".safetensors"));
    std::filesystem::copy(folder.path() / "shard.safetensors", component.path() / "shard.safetensors");
    write_text(component.path() / (stem + ".safetensors.index.json"),
               R"({"weight_map":{"a":"shard.safetensors"}})");
    return first_value(io::ComponentSource(component.path()).find("a"));
  };
  CHECK(value("diffusion_pytorch_model") == 2);
  CHECK(value("model") == 1);
}

TEST_CASE("component: of files under both libraries' names, those of the config's") {
  const TemporaryFolder folder;
  write_tensor(folder.path() / "diffusion_pytorch_model.safetensors", "a", 1);
  write_tensor(folder.path() / "model.safetensors", "a", 2);
  const auto value = [&] { return first_value(io::ComponentSource(folder.path()).find("a")); };
  CHECK(value() == 1);
  write_text(folder.path() / "config.json", R"({"_class_name": "UNet2DConditionModel"})");
  CHECK(value() == 1);
  write_text(folder.path() / "config.json",
             R"({"architectures": ["CLIPTextModel"], "model_type": "clip_text_model"})");
  CHECK(value() == 2);
  std::filesystem::remove(folder.path() / "model.safetensors");
  CHECK(value() == 1);
}

TEST_CASE("component: shards, of which the index says which tensor to take") {
  const TemporaryFolder folder;
  write_tensor(folder.path() / "m-1.safetensors", "a", 1);
  write_tensor(folder.path() / "m-2.safetensors", "b", 2);
  std::filesystem::create_symlink(folder.path() / "m-2.safetensors", folder.path() / "link.safetensors");
  const std::filesystem::path index = folder.path() / "model.safetensors.index.json";
  write_text(index,
             R"({"metadata":{"total_size":32},"weight_map":{"a":"m-1.safetensors","b":"link.safetensors"}})");
  const io::ComponentSource source(folder.path());
  CHECK(first_value(source.find("a")) == 1);
  CHECK(first_value(source.find("b")) == 2);
  CHECK(source.files().size() == 2);
  CHECK(source.tensors().size() == 2);
  // What the index does not name is there too; of what two shards have, neither is meant.
  const std::vector<f32> values(4, 3);
  const Tensor<f32> tensor(Shape{2, 2}, std::span(values));
  const std::vector<io::NamedTensor> both{{"a", tensor}, {"c", tensor}};
  io::write_safetensors(folder.path() / "m-4.safetensors", both);
  write_text(index, R"({"weight_map":{"a":"m-4.safetensors"}})");
  CHECK(io::ComponentSource(folder.path()).contains("c"));
  write_text(index, R"({"weight_map":{"a":"m-1.safetensors","c":"m-4.safetensors"}})");
  CHECK_THROWS_WITH(io::ComponentSource(folder.path()),
                    Catch::Contains("m-4.safetensors") && Catch::Contains("m-1.safetensors too"));

  const auto refused = [&](const std::filesystem::path& file, const std::string& map,
                           const std::string& words) {
    write_text(index, map);
    expect(refusal(file, [&] { io::ComponentSource{folder.path()}; }), words);
  };
  refused(index, "{}", "holds no weights, and is not an index of files that do");
  refused(index, R"({"weight_map":[]})", "key 'weight_map': must be an object");
  refused(index, R"({"weight_map":{}})", "is empty");
  refused(index, R"({"weight_map":{"a":3}})", "key 'weight_map.a': must be a string, not 3");
  for (const std::string outside : {"../m-1.safetensors", "/etc/passwd.safetensors", "sub/m-1.safetensors",
                                    "..", ".", "", "a\\\\b.safetensors", "m-1.safetensors\\u0000", "m-1.bin"})
    refused(index, R"({"weight_map":{"a":")" + outside + R"("}})",
            "which is not a .safetensors file in this folder");
  refused(folder.path() / "m-3.safetensors", R"({"weight_map":{"a":"m-3.safetensors"}})", "No such file");
  refused(folder.path() / "m-1.safetensors", R"({"weight_map":{"z":"m-1.safetensors"}})",
          "tensor 'z': is missing");
  refused(index, R"({"weight_map":{"a":"m-1.safetensors","a":"m-2.safetensors"}})", "appears twice");
}

TEST_CASE("component: a GGUF model in several files, of which any is given") {
  const TemporaryFolder folder;
  const auto name = [&](int part, const std::string& of = "00002") {
    return folder.path() / ("m-0000" + std::to_string(part) + "-of-" + of + ".gguf");
  };
  const auto write = [&](const std::filesystem::path& file, int part, const std::string& tensor, f32 value,
                         std::int32_t tensors = 2) {
    io::GgufWriter writer(file);
    writer.set("split.no", static_cast<std::uint16_t>(part));
    writer.set("split.count", std::uint16_t{2});
    writer.set("split.tensors.count", tensors);
    if (part == 0) writer.set("comfy.gguf.orig_shape.b", std::span<const std::int32_t>(std::array{1, 4}));
    writer.declare(tensor, dtype_info<f32>, Shape{2, 2});
    const std::vector<f32> values(4, value);
    writer.write(std::as_bytes(std::span(values)));
    writer.commit();
  };
  write(name(1), 0, "a", 1);
  write(name(2), 1, "b", 2);
  for (const int given : {1, 2}) {
    const io::ComponentSource source(name(given));
    CHECK(source.files().size() == 2);
    CHECK(source.files()[0].gguf()->value("split.no")->integer() == 0);
    CHECK(first_value(source.find("a")) == 1);
    CHECK(first_value(source.find("b")) == 2);
    CHECK(source.find("a").shape == Shape{2, 2});
    CHECK(source.find("b").shape == Shape{1, 4});  // as the first part says
  }
  const auto refused = [&](const std::filesystem::path& given, const std::filesystem::path& named,
                           const std::string& words) {
    expect(refusal(named, [&] { io::ComponentSource{given}; }), words);
  };
  write(name(2), 1, "a", 2);
  refused(name(1), name(2), "tensor 'a': is in another part of the model, too");
  write(name(2), 0, "b", 2);
  refused(name(1), name(2), "is part 1 of 2 where part 2 of 2 is expected");
  refused(name(2), name(2), "is part 1 of 2 of a model, and its name does not end in -00001-of-00002.gguf");
  write_tensor(name(2), "b", 2);
  refused(name(1), name(2), "does not start with GGUF");
  write(name(2), 1, "b", 2);
  write(name(1), 0, "a", 1, 3);
  refused(name(1), name(1), "is of a model of 3 tensors, and its parts have 2");
  std::filesystem::remove(name(2));
  refused(name(1), name(2), "is missing, and m-00001-of-00002.gguf is part 1 of 2 of a model");
  write(name(1), 2, "a", 1);
  refused(name(1), name(1), "claims to be part 3 of 2");
}

TEST_CASE("component: weights of one variant are taken, of several none") {
  const TemporaryFolder folder;
  const auto value = [&] { return first_value(io::ComponentSource(folder.path()).find("a")); };
  write_tensor(folder.path() / "diffusion_pytorch_model.fp16-00001-of-00001.safetensors", "a", 1);
  expect(
      refusal(folder.path(), [&] { io::ComponentSource{folder.path()}; }),
      "holds diffusion_pytorch_model.fp16-00001-of-00001.safetensors, one of several shards, and not their "
      "index, diffusion_pytorch_model.safetensors.index.fp16.json: put it into this folder");
  write_text(folder.path() / "diffusion_pytorch_model.safetensors.index.fp16.json",
             R"({"weight_map":{"a":"diffusion_pytorch_model.fp16-00001-of-00001.safetensors"}})");
  CHECK(value() == 1);
  write_tensor(folder.path() / "diffusion_pytorch_model.non_ema.safetensors", "a", 2);
  expect(refusal(folder.path(), [&] { io::ComponentSource{folder.path()}; }),
         "several variants, among them 'fp16' and 'non_ema'");
  write_tensor(folder.path() / "diffusion_pytorch_model.safetensors", "a", 3);
  CHECK(value() == 3);
  const TemporaryFolder encoder;
  write_tensor(encoder.path() / "model.fp16.safetensors", "a", 4);
  CHECK(first_value(io::ComponentSource(encoder.path()).find("a")) == 4);
  const TemporaryFolder shards;
  write_tensor(shards.path() / "model-00002-of-00002.safetensors", "a", 1);
  expect(refusal(shards.path(), [&] { io::find_weights(shards.path()); }),
         "holds model-00002-of-00002.safetensors, one of several shards, and not their index, "
         "model.safetensors.index.json: put it into this folder");
}

TEST_CASE("component: a folder's PyTorch checkpoint is named") {
  for (const auto& names : std::vector<std::vector<const char*>>{
           {"pytorch_model.bin"},
           {"diffusion_pytorch_model.bin"},
           {"diffusion_pytorch_model.fp16.bin"},
           {"pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin",
            "pytorch_model.bin.index.json"},
           {"diffusion_pytorch_model.bin.index.json"},
           {"diffusion_pytorch_model.bin.index.fp16.json"}}) {
    const TemporaryFolder folder;
    for (const char* name : names) write_text(folder.path() / name, "");
    INFO(names.front());
    CHECK(io::find_checkpoint(folder.path()) == std::string(names.front()));
    expect(
        refusal(folder.path(), [&] { io::ComponentSource{folder.path()}; }),
        std::string("holds its weights as a PyTorch checkpoint, ") + names.front() + ", which can run code");
  }
  // Others of that suffix are what a trainer or an optimiser keeps.
  for (const char* name :
       {"training_args.bin", "pytorch_model_ema.bin", "pytorch_model.bin.md5", "model.bin"}) {
    const TemporaryFolder folder;
    write_text(folder.path() / name, "");
    INFO(name);
    CHECK_FALSE(io::find_checkpoint(folder.path()));
  }
}

TEST_CASE("component: a link that leads nowhere is named, and nothing is taken in its place") {
  const TemporaryFolder folder;
  const std::filesystem::path link = folder.path() / "model.safetensors";
  std::filesystem::create_symlink("/nowhere/at/all", link);
  expect(refusal(link, [&] { io::ComponentSource{folder.path()}; }), "No such file");
}

TEST_CASE("component: no weights, wrong dtypes and odd files are refused") {
  const TemporaryFolder folder;
  const std::filesystem::path absent = folder.path() / "absent";
  expect(refusal(absent, [&] { io::ComponentSource{absent}; }), "does not exist");
  expect(refusal(folder.path(), [&] { io::ComponentSource{folder.path()}; }), "holds no model.safetensors");
  const std::filesystem::path file = folder.path() / "model.safetensors";
  const std::string header = R"({"ids":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})";
  write_text(file, std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header +
                       std::string(8, '\0'));
  const io::ComponentSource source(folder.path());
  CHECK(source.tensors().size() == 1);
  expect(refusal(file, [&] { source.find("ids"); }), "has dtype I64, which is not supported for weights");
  // A pipe that nobody writes to must not be waited for.
  const std::filesystem::path pipe = folder.path() / "pipe.safetensors";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  expect(refusal(pipe, [&] { io::ComponentSource{pipe}; }), "is not a regular file");
}

TEST_CASE("component: what was taken no longer counts as this process's memory, and can be read again") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "model.safetensors";
  Tensor<f32> large(Shape{4 << 20});
  std::ranges::fill(large.values(), 1.0f);
  const io::NamedTensor named{"large", large};
  io::write_safetensors(file, std::span(&named, 1));
  const auto mapped_pages = [] {
    std::ifstream statm("/proc/self/statm");
    std::int64_t size = 0, resident = 0, shared = 0;
    statm >> size >> resident >> shared;
    return shared;
  };
  const io::ComponentSource source(folder.path());
  const auto sum = [&] {
    std::size_t total = 0;
    for (const std::byte byte : source.find("large").bytes) total += static_cast<std::size_t>(byte);
    return total;
  };
  const std::int64_t before = mapped_pages();
  const std::size_t expected = sum();
  const std::int64_t pages = std::ssize(source.find("large").bytes) / ::sysconf(_SC_PAGESIZE);
  CHECK(mapped_pages() - before > pages * 3 / 4);
  source.taken(std::size_t{64} << 20);
  CHECK(mapped_pages() - before < pages / 4);
  CHECK(sum() == expected);
}

TEST_CASE("component: the golden folders open, sharded ones too") {
  const std::filesystem::path models = std::filesystem::path(PRECAST_SOURCE_DIR) / "tests/golden/models";
  for (const char* folder : {"dev_f32", "schnell_bf16", "dev_fp8", "static_sharded"})
    for (const char* component : {"text_encoder", "text_encoder_2", "transformer", "vae"}) {
      INFO(folder << "/" << component);
      const io::ComponentSource source(models / folder / component);
      CHECK(source.tensors().size() > 4);
    }
  CHECK(io::ComponentSource(models / "static_sharded/transformer").files().size() > 1);
}

// Inspects the parts of a file through the classes that load it.
#include <algorithm>

#include <cli/inspect/inspect_file.hpp>
#include <stable_diffusion/weight_file.hpp>
#include <weights/layouts.hpp>
#include <weights/weight_tensors.hpp>

#include <precast/error.hpp>
#include <precast/io/json_text.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

std::string kind_of(const io::TensorFile& file) {
  if (!file.gguf()) return "safetensors";
  const io::GgufFile& gguf = *file.gguf();
  std::string kind = "GGUF version " + std::to_string(gguf.version());
  if (const io::GgufValue* architecture = gguf.value("general.architecture");
      architecture && architecture->type() == io::GgufValueType::string)
    kind += ", architecture " + io::printable(architecture->text(), 40);
  return kind;
}

/// A number or bool of a file as JSON.
constexpr auto as_json = []<class Number>(Number value) -> Json {
  if constexpr (std::is_floating_point_v<Number>)
    return io::json_number(static_cast<double>(value));
  else
    return value;
};

/// A value as JSON; an array too long to read becomes its element type and count.
Json value_of(const io::GgufValue& value) {
  constexpr std::uint64_t longest = 64;
  if (value.type() == io::GgufValueType::string) return std::string(value.text());
  if (!value.is_array()) return value.number_as<Json>(as_json);
  const io::GgufValueType element = value.element_type();
  if (value.count() > longest)
    return "an array of " + std::to_string(value.count()) + " " + std::string(io::gguf_value_name(element));
  if (element == io::GgufValueType::string) {
    Json list = Json::array();
    for (const std::string_view text : value.texts()) list.push_back(std::string(text));
    return list;
  }
  return value.numbers_as<Json>(as_json);
}

Json metadata_of(const io::TensorFile& file) {
  Json metadata = Json::object();
  // Appended without a lookup, which takes a second for 10,000 keys: files that repeat a key are refused.
  auto& pairs = metadata.get_ref<Json::object_t&>();
  if (file.gguf())
    for (const io::GgufValue& value : file.gguf()->values()) pairs.emplace_back(value.key(), value_of(value));
  else
    for (const auto& [key, text] : file.safetensors()->metadata()) pairs.emplace_back(key, text);
  return metadata;
}

PartFacts facts_of_part(const io::ComponentSource& file, const weights::FoundComponent& part) {
  PartFacts facts{part.component, std::string(in_words(part.naming)), part.prefix, {}};
  const weights::WeightTensors tensors(file, part.prefix);
  for (const auto& [name, weight] : tensors.all()) {
    // The prefix may be empty; then the tensors of other parts are counted too.
    FormatShare& share = facts.formats[weight.format];
    ++share.tensors;
    share.parameters += weight.shape.elements();
    share.bytes += weight.bytes;
  }
  return facts;
}

void add_stable_diffusion(FileFacts& facts, const io::ComponentSource& file,
                          const stable_diffusion::WeightFile& found) {
  facts.model = in_words(found);
  if (const std::string why = refusal(found); !why.empty())
    facts.problem = "is " + why + ", which is not read";
  for (const weights::FoundComponent& part : found.components)
    facts.parts.push_back(facts_of_part(file, part));
}

}  // namespace

FileFacts facts_of(const io::ComponentSource& file) {
  FileFacts facts;
  facts.kind = kind_of(file.files().front());
  if (file.files().size() > 1) facts.kind += ", in " + std::to_string(file.files().size()) + " files";
  facts.metadata = metadata_of(file.files().front());
  if (weights::is_importance(file.files().front())) {
    facts.model = "the importance of a model's matrices, for convert and cost --importance";
    return facts;
  }
  try {
    if (const auto found = stable_diffusion::weight_file(file)) {
      add_stable_diffusion(facts, file, *found);
      return facts;
    }
    const auto parts = weights::parts_of(file);
    const auto other = weights::other_model(file, parts);
    if (other) facts.model = other->in_words;
    for (const weights::FoundComponent& part : parts) facts.parts.push_back(facts_of_part(file, part));
    for (const weights::FoundComponent& part : stable_diffusion::lone_text_encoders(file))
      if (!weights::find_component(parts, part.component)) facts.parts.push_back(facts_of_part(file, part));
    const auto* transformer = weights::find_component(parts, "transformer");
    if (other && other->kind == weights::OtherModel::Kind::lone_unet) {
      facts.model += ", for --transformer beside --model with the folder of its model";
      facts.parts.push_back(facts_of_part(file, {"unet", weights::Naming::ours, ""}));
    } else if (other) {
      facts.problem = "is " + facts.model + ", which is not read";
    } else if (transformer) {
      const bool ours = transformer->naming == weights::Naming::ours;
      const bool guided = file.has_names_beginning(
          transformer->prefix + (ours ? "time_text_embed.guidance_embedder." : "guidance_in."));
      facts.model =
          guided ? "Flux.1 dev, or one with the same tensors such as Krea or Kontext" : "Flux.1 schnell";
    }
  } catch (const InputError& error) {
    facts.problem = error.what();
  }
  return facts;
}

std::string in_text(const FileFacts& facts) {
  std::string text = facts.kind + (facts.model.empty() ? "" : ": " + facts.model) + "\n";
  for (const PartFacts& part : facts.parts) {
    text += part.part + ": " + part.names + " names" +
            (part.prefix.empty() ? "" : ", prefix " + part.prefix) + "\n";
    std::vector<std::vector<std::string>> rows{{"  format", "tensors", "parameters", "bytes"}};
    for (const auto& [format, share] : part.formats)
      rows.push_back({"  " + format, std::to_string(share.tensors), with_commas(share.parameters),
                      in_bytes(share.bytes)});
    text += aligned(rows, "lrrr");
  }
  if (!facts.metadata.empty()) text += "metadata\n";
  constexpr std::size_t longest = 100;
  for (const auto& [key, value] : facts.metadata.items())
    text += "  " + io::printable(key) + ": " +
            (value.is_string() ? io::printable(value.get_ref<const std::string&>(), longest)
                               : io::printable(io::json_line(value), longest)) +
            "\n";
  if (!facts.problem.empty()) text += "cannot be loaded: " + facts.problem + "\n";
  return text;
}

Json in_json(const FileFacts& facts) {
  Json parts = Json::array();
  for (const PartFacts& part : facts.parts) {
    Json formats = Json::object();
    for (const auto& [format, share] : part.formats)
      formats[format] = {
          {"tensors", share.tensors}, {"parameters", share.parameters}, {"bytes", share.bytes}};
    parts.push_back(
        {{"part", part.part}, {"names", part.names}, {"prefix", part.prefix}, {"formats", formats}});
  }
  return {{"kind", facts.kind},
          {"model", text_or_null(facts.model)},
          {"parts", parts},
          {"metadata", facts.metadata},
          {"problem", text_or_null(facts.problem)}};
}

}  // namespace precast::cli

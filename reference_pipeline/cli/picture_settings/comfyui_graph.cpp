// Reads the node graphs that ComfyUI stores in its pictures.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <cli/picture_settings/picture_settings.hpp>
#include <cli/terminal/output.hpp>

#include <precast/io/json_text.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

constexpr int most_links = 100;  // followed along a path in the graph, which may have a cycle

/// A node's inputs: values by name, and links to other nodes.
struct GraphNode {
  std::string kind;
  std::map<std::string, nlohmann::json> values;
  std::map<std::string, std::string> links;
  bool runs = true;  ///< neither muted nor bypassed
};

/// Orders names: numbers first, and 9 before 10.
struct InOrder {
  static bool is_number(const std::string& name) {
    return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
  }
  bool operator()(const std::string& a, const std::string& b) const {
    const bool other_a = !is_number(a), other_b = !is_number(b);
    if (other_a != other_b) return other_b;
    if (!other_a && a.size() != b.size()) return a.size() < b.size();
    return a < b;
  }
};
using Graph = std::map<std::string, GraphNode, InOrder>;

std::string in_text(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return shortest(value.get<double>());
  if (value.is_number()) return io::json_line(value);
  return {};
}

/// {"3": {"class_type": "KSampler", "inputs": {"seed": 5, "model": ["4", 0]}}}
Graph graph_as_run(const nlohmann::json& json) {
  Graph graph;
  for (const auto& [number, node] : json.items()) {
    if (!node.is_object() || !node.contains("class_type") || !node["class_type"].is_string()) continue;
    GraphNode& read = graph[number];
    read.kind = node["class_type"].get<std::string>();
    if (!node.contains("inputs") || !node["inputs"].is_object()) continue;
    for (const auto& [name, value] : node["inputs"].items()) {
      const bool is_link =
          value.is_array() && value.size() == 2 && (value[0].is_string() || value[0].is_number());
      if (is_link)
        read.links[name] = in_text(value[0]);
      else
        read.values[name] = value;
    }
  }
  return graph;
}

/// The names of the values that a node of a drawn graph lists without names, for the nodes read here.
std::vector<std::string_view> widgets_of(std::string_view kind) {
  if (kind == "KSampler") return {"seed", "", "steps", "cfg", "sampler_name", "scheduler", "denoise"};
  if (kind == "KSamplerAdvanced")
    return {"", "noise_seed", "", "steps", "cfg", "sampler_name", "scheduler", "start_at_step"};
  if (kind == "CLIPSetLastLayer") return {"stop_at_clip_layer"};
  if (kind == "LoraLoader" || kind == "LoraLoaderModelOnly") return {"lora_name"};
  if (kind == "CLIPTextEncode") return {"text"};
  if (kind == "CLIPTextEncodeFlux") return {"clip_l", "t5xxl", "guidance"};
  if (kind == "FluxGuidance") return {"guidance"};
  if (kind == "RandomNoise") return {"noise_seed"};
  if (kind == "BasicScheduler") return {"scheduler", "steps", "denoise"};
  if (kind == "KSamplerSelect") return {"sampler_name"};
  if (kind == "EmptyLatentImage" || kind == "EmptySD3LatentImage") return {"width", "height", "batch_size"};
  if (kind == "UNETLoader" || kind == "UnetLoaderGGUF") return {"unet_name"};
  if (kind == "CheckpointLoaderSimple") return {"ckpt_name"};
  return {};
}

/// {"nodes": [{"id": 3, "type": "KSampler", "inputs": [{"name": "model", "link": 7}], "widgets_values":
/// [5]}], "links": [[7, 4, 0, 3, 0, "MODEL"]]}
Graph graph_as_drawn(const nlohmann::json& json) {
  Graph graph;
  std::map<std::string, std::string> origins;  // the source node of each link
  if (json.contains("links") && json["links"].is_array())
    for (const nlohmann::json& link : json["links"])
      if (link.is_array() && link.size() >= 2) origins[in_text(link[0])] = in_text(link[1]);
  for (const nlohmann::json& node : json["nodes"]) {
    if (!node.is_object() || !node.contains("id") || !node.contains("type") || !node["type"].is_string())
      continue;
    GraphNode& read = graph[in_text(node["id"])];
    read.kind = node["type"].get<std::string>();
    // LiteGraph's modes: 2 never, 4 bypass.
    if (node.contains("mode")) read.runs = node["mode"] != 2 && node["mode"] != 4;
    if (node.contains("inputs") && node["inputs"].is_array())
      for (const nlohmann::json& input : node["inputs"]) {
        if (!input.is_object() || !input.contains("name") || !input.contains("link")) continue;
        const auto origin = origins.find(in_text(input["link"]));
        if (origin != origins.end()) read.links[in_text(input["name"])] = origin->second;
      }
    if (!node.contains("widgets_values") || !node["widgets_values"].is_array()) continue;
    const auto names = widgets_of(read.kind);
    for (std::size_t i = 0; i < std::min(names.size(), node["widgets_values"].size()); ++i)
      if (!names[i].empty()) read.values[std::string(names[i])] = node["widgets_values"][i];
  }
  return graph;
}

class GraphReader {
 public:
  explicit GraphReader(const Graph& graph) : graph_(graph) {}

  const GraphNode* at(const GraphNode& node, std::string_view input) const {
    const auto link = node.links.find(std::string(input));
    if (link == node.links.end()) return nullptr;
    const auto found = graph_.find(link->second);
    return found == graph_.end() ? nullptr : &found->second;
  }

  /// A value of a node, or of the node that its input is linked to, as a number or a text may be a node of
  /// its own.
  std::string value(const GraphNode* node, std::string_view name) const {
    for (int i = 0; node && i < most_links; ++i) {
      if (const auto found = node->values.find(std::string(name)); found != node->values.end())
        return in_text(found->second);
      const GraphNode* origin = at(*node, name);
      if (!origin) return {};
      for (const std::string_view usual : {"value", "text", "string", "seed", "int", "float"})
        if (origin->values.contains(std::string(usual)))
          return in_text(origin->values.at(std::string(usual)));
      node = origin;
    }
    return {};
  }

  /// The first node upstream of a node's input that has one of the values `having`; other nodes are passed
  /// through their first input named in `through`.
  const GraphNode* upstream(const GraphNode* node, std::string_view input,
                            std::span<const std::string_view> having,
                            std::span<const std::string_view> through) const {
    node = node ? at(*node, input) : nullptr;
    for (int i = 0; node && i < most_links; ++i) {
      if (node->kind == "ConditioningZeroOut") return nullptr;  // its inputs have no effect
      for (const std::string_view name : having)
        if (node->values.contains(std::string(name)) || node->links.contains(std::string(name))) return node;
      const GraphNode* next = nullptr;
      for (const std::string_view name : through)
        if (!next) next = at(*node, name);
      node = next;
    }
    return nullptr;
  }

 private:
  const Graph& graph_;
};

constexpr std::array<std::string_view, 5> text_names{"text", "t5xxl", "clip_l", "text_g", "text_l"};
constexpr std::array<std::string_view, 1> guidance_names{"guidance"};
constexpr std::array<std::string_view, 4> through_conditioning{"conditioning", "conditioning_1",
                                                               "conditioning_to", "positive"};
constexpr std::array<std::string_view, 1> clip_layer_names{"stop_at_clip_layer"};
constexpr std::array<std::string_view, 5> through_text{"conditioning", "conditioning_1", "conditioning_to",
                                                       "positive", "clip"};
constexpr std::array<std::string_view, 2> model_names{"unet_name", "ckpt_name"};
constexpr std::array<std::string_view, 1> through_models{"model"};
constexpr std::array<std::string_view, 2> size_names{"width", "height"};
constexpr std::array<std::string_view, 2> through_latents{"samples", "latent"};
constexpr std::array<std::string_view, 4> samplers{"KSampler", "KSamplerAdvanced", "SamplerCustomAdvanced",
                                                   "SamplerCustom"};

bool is_sampler(const GraphNode& node) {
  return node.runs && std::ranges::find(samplers, node.kind) != samplers.end();
}

/// The sampler whose latents are the input of a second pass, possibly decoded and upscaled in between.
const GraphNode* pass_before(const GraphReader& reader, const GraphNode& sampler) {
  const GraphNode* node = reader.at(sampler, "latent_image");
  for (int i = 0; node && i < most_links; ++i) {
    if (is_sampler(*node)) return node;
    const GraphNode* next = nullptr;
    for (const std::string_view name : {"samples", "latent", "latent_image", "pixels", "image"})
      if (!next) next = reader.at(*node, name);
    node = next;
  }
  return nullptr;
}

/// The text of a conditioning node: CLIPTextEncode's, or that of T5 or XL's second encoder in nodes with a
/// text for each encoder.
std::string text_of(const GraphReader& reader, const GraphNode* from, std::string_view input) {
  const GraphNode* node = reader.upstream(from, input, text_names, through_conditioning);
  if (!node) return {};
  for (const std::string_view name : text_names)
    if (std::string text = reader.value(node, name); !text.empty()) return text;
  return {};
}

/// The CLIP layer from which a conditioning is read, counted from the last, which is 1; "" if no node sets
/// it.
std::string clip_layer_of(const GraphReader& reader, const GraphNode* from, std::string_view input) {
  const GraphNode* node = reader.upstream(from, input, clip_layer_names, through_text);
  const std::string layer = node && node->runs ? reader.value(node, clip_layer_names.front()) : std::string();
  return layer.starts_with("-") ? layer.substr(1) : layer;
}

/// A sampler's name in the "parameters" text, such as "Euler" for "euler".
std::string sampler_name(std::string name) {
  if (name == "euler") return "Euler";
  if (name == "euler_ancestral") return "Euler a";
  if (name == "dpmpp_2m") return "DPM++ 2M";
  if (name == "dpmpp_2m_sde" || name == "dpmpp_2m_sde_gpu") return "DPM++ 2M SDE";
  if (name == "ddim") return "DDIM";
  if (name == "lcm") return "LCM";
  return name;
}

/// A note on a node whose effect no option has; "" for other nodes.
std::string what_no_option_makes(const GraphReader& reader, const GraphNode& node) {
  const auto begins = [&](std::string_view kind) { return node.kind.starts_with(kind); };
  if (node.kind.find("Lora") != std::string::npos) {
    const std::string name = reader.value(&node, "lora_name");
    return "its LoRA" + (name.empty() ? std::string() : " '" + io::printable(name) + "'") +
           " is left out, which is not supported";
  }
  if (begins("ControlNetApply")) return "its ControlNet is left out, which is not supported";
  if (node.kind == "SetLatentNoiseMask" || node.kind == "VAEEncodeForInpaint" ||
      node.kind == "InpaintModelConditioning")
    return "it was painted inside a mask: give --image and --mask";
  if (node.kind == "ConditioningCombine" || node.kind == "ConditioningConcat" ||
      node.kind == "ConditioningAverage")
    return "its prompt was made of several: this is the first of them";
  return {};
}

}  // namespace

std::optional<PictureSettings> read_comfyui(const std::string& text, const std::filesystem::path& file) {
  const nlohmann::json json =
      io::parse_json(io::with_nulls(text, {"NaN", "Infinity", "-Infinity"}), file, "ComfyUI's graph");
  if (!json.is_object()) return std::nullopt;
  const bool drawn = json.contains("nodes") && json["nodes"].is_array();
  const Graph graph = drawn ? graph_as_drawn(json) : graph_as_run(json);
  const GraphReader reader(graph);
  const GraphNode* sampler = nullptr;
  // The first pass is the sampler whose latents come from no other sampler.
  for (const auto& [number, node] : graph)
    if (!sampler && is_sampler(node) && !pass_before(reader, node)) sampler = &node;
  if (!sampler) return std::nullopt;
  const bool has_second = std::ranges::any_of(graph, [&](const auto& entry) {
    return is_sampler(entry.second) && pass_before(reader, entry.second) == sampler;
  });
  const GraphNode* noise = reader.at(*sampler, "noise");
  const GraphNode* guider = reader.at(*sampler, "guider");
  const GraphNode* sigmas = reader.at(*sampler, "sigmas");
  const GraphNode* conditioned = guider ? guider : sampler;
  const std::string_view positive =
      guider && guider->links.contains("conditioning") ? "conditioning" : "positive";

  PictureSettings settings;
  settings.source = SettingsSource::comfyui;
  if (has_second)
    settings.notes.emplace_back("its second pass is left out: these are the settings of the first");
  settings.prompt = text_of(reader, conditioned, positive);
  if (settings.prompt.empty() && conditioned->links.contains(std::string(positive)))
    settings.notes.emplace_back("its prompt is empty, or made by unknown nodes: give --prompt");
  if (const std::string start = reader.value(sampler, "start_at_step"); !start.empty() && start != "0")
    settings.notes.push_back("its first " + io::printable(start) +
                             " steps were not run: give --image and --strength");
  for (const auto& [number, node] : graph)
    if (std::string sentence = node.runs ? what_no_option_makes(reader, node) : std::string();
        !sentence.empty() && std::ranges::find(settings.notes, sentence) == settings.notes.end())
      settings.notes.push_back(std::move(sentence));
  if (std::string negative = text_of(reader, conditioned, "negative"); !negative.empty())
    settings.negative = std::move(negative);
  const auto add = [&](const char* name, std::string value) {
    if (!value.empty()) settings.values.emplace_back(name, std::move(value));
  };
  const auto first = [](std::initializer_list<std::string> values) {
    for (const std::string& value : values)
      if (!value.empty()) return value;
    return std::string();
  };
  add("Steps", first({reader.value(sampler, "steps"), reader.value(sigmas, "steps")}));
  add("Sampler", sampler_name(first({reader.value(sampler, "sampler_name"),
                                     reader.value(reader.at(*sampler, "sampler"), "sampler_name")})));
  add("Schedule type", first({reader.value(sampler, "scheduler"), reader.value(sigmas, "scheduler")}));
  add("CFG scale", first({reader.value(sampler, "cfg"), reader.value(guider, "cfg")}));
  add("Distilled CFG Scale",
      reader.value(reader.upstream(conditioned, positive, guidance_names, through_conditioning), "guidance"));
  add("Clip skip", clip_layer_of(reader, conditioned, positive));
  add("Seed", first({reader.value(sampler, "seed"), reader.value(sampler, "noise_seed"),
                     reader.value(noise, "noise_seed")}));
  const GraphNode* size = reader.upstream(sampler, "latent_image", size_names, through_latents);
  const std::string width = reader.value(size, "width"), height = reader.value(size, "height");
  if (!width.empty() && !height.empty()) add("Size", width + "x" + height);
  const GraphNode* with_model = guider && guider->links.contains("model") ? guider : sampler;
  const GraphNode* loader = reader.upstream(with_model, "model", model_names, through_models);
  std::string model = first({reader.value(loader, "unet_name"), reader.value(loader, "ckpt_name")});
  for (const std::string_view end : {".safetensors", ".gguf", ".sft"})
    if (model.ends_with(end)) model.resize(model.size() - end.size());
  add("Model", std::move(model));
  const std::string strength = first({reader.value(sampler, "denoise"), reader.value(sigmas, "denoise")});
  if (strength != "1") add("Denoising strength", strength);
  return settings;
}

}  // namespace precast::cli

// Reads tokenizers, and runs text encoders.
#include <algorithm>
#include <chrono>
#include <utility>

#include <families/request_limits.hpp>
#include <stable_diffusion/model.hpp>

#include <precast/memory/dry_run.hpp>

namespace precast::stable_diffusion {

namespace {

/// Throws ShapeError if `to` is too small.
void copy_columns(HostView<const f32> from, Tensor<f32>& to, std::int64_t first_column) {
  if (from.rows() > to.rows() || first_column + from.columns() > to.columns())
    throw ShapeError("a text encoder gives " + to_string(from.shape()) + " from column " +
                     std::to_string(first_column) + " on, and there is room for " + to_string(to.shape()));
  for (std::int64_t row = 0; row < from.rows() && !DryRun::active(); ++row)
    std::ranges::copy(from.row(row), to.data() + row * to.columns() + first_column);
}

}  // namespace

Model Model::open(const families::ModelFiles& files) {
  Model model{ModelFolder::open(files), {}, {}};
  const std::filesystem::path& path = model.folder.path;
  if (model.folder.text_encoder) model.tokenizer = text::ClipTokenizer::load(path / "tokenizer");
  if (model.folder.text_encoder_2) model.tokenizer_2 = text::ClipTokenizer::load(path / "tokenizer_2");
  const std::vector<Encoder> encoders = model.encoders();
  for (const Encoder& encoder : encoders)
    model.folder.check_positions(encoder.name, encoder.config.max_position_embeddings,
                                 encoder.tokenizer.model_max_length());
  if (encoders.size() == 2 && encoders[0].length() != encoders[1].length())
    throw io::file_error(path / "tokenizer_2",
                         "its texts have " + std::to_string(encoders[1].length()) +
                             " tokens, and those of tokenizer " + std::to_string(encoders[0].length()) +
                             ": both encoders need the same number: get the tokenizers of one model");
  return model;
}

std::vector<Model::Encoder> Model::encoders() const {
  std::vector<Encoder> list;
  if (folder.text_encoder) list.push_back({"text_encoder", "CLIP", *folder.text_encoder, *tokenizer});
  if (folder.text_encoder_2)
    list.push_back({"text_encoder_2", "OpenCLIP", *folder.text_encoder_2, *tokenizer_2});
  return list;
}

std::vector<std::int32_t> Model::tokens(const Encoder& encoder, const std::string& prompt) const {
  auto ids = encoder.tokenizer.prompt_ids(prompt, encoder.length(), encoder.length());
  text::check_vocabulary(folder.component(encoder.name), ids, encoder.config.vocab_size);
  return ids;
}

text::ClipState Model::state_of(const Encoder& encoder, std::optional<int> clip_skip) const {
  // Folders of 2.x lack the last layer of OpenCLIP, so that their last state is the penultimate one.
  const text::ClipState usual = folder.is_xl() ? text::penultimate_state : text::last_state;
  if (!clip_skip) return usual;
  const std::int64_t layers = encoder.config.num_hidden_layers;
  if (*clip_skip < 1 || *clip_skip > layers)
    throw families::out_of_range(
        "clip skip", std::to_string(*clip_skip),
        "from 1 to " + std::to_string(layers) + ", the layers of this model's " + std::string(encoder.words));
  return {*clip_skip - 1, usual.final_norm};
}

std::vector<Prompt> Model::encoded(const std::vector<std::optional<std::string>>& texts,
                                   std::optional<int> clip_skip, const families::Backend& backend,
                                   const PolicyChoice& choice, const families::Reporter& progress,
                                   families::Result& result) const {
  const auto count = static_cast<std::int64_t>(texts.size());
  const std::vector<Encoder> all = encoders();
  const std::int64_t rows = all.front().length(), columns = folder.unet.context_width;
  const bool pools = folder.is_xl();
  std::vector<Prompt> prompts(texts.size());
  for (Prompt& prompt : prompts) {
    prompt.context = Tensor<f32>(Shape{rows, columns});
    prompt.pooled = Tensor<f32>(Shape{1, pools ? folder.text_encoder_2->projection_dim : 0});
    if (DryRun::active()) continue;
    std::ranges::fill(prompt.context.values(), 0.0f);
    std::ranges::fill(prompt.pooled.values(), 0.0f);
  }
  std::int64_t first_column = 0;
  for (const Encoder& encoder : all) {
    const bool second = encoder.name == "text_encoder_2";
    const std::string_view load = second ? "load OpenCLIP" : "load CLIP",
                           encode = second ? "encode with OpenCLIP" : "encode with CLIP";
    const text::ClipState state = state_of(encoder, clip_skip);
    const auto loaded =
        with_weights({encoder.name, load}, progress, result, [&](const nn::ParameterSource& source) {
          return models_of(backend, choice).clip(encoder.config, source);
        });
    const auto running = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < count; ++i) {
      if (progress) progress({encode, i, count});
      const auto& text = texts[static_cast<std::size_t>(i)];
      if (!text || (i > 0 && DryRun::active())) continue;  // a dry run needs only the first
      const text::ClipOutput output = loaded->encode(tokens(encoder, *text), state);
      Prompt& prompt = prompts[static_cast<std::size_t>(i)];
      copy_columns(output.hidden_state, prompt.context, first_column);
      if (second) copy_columns(output.pooled, prompt.pooled, 0);
    }
    if (progress) progress({encode, count, count});
    result.text_seconds += process::seconds_since(running);
    first_column += encoder.config.hidden_size;
  }
  return prompts;
}

}  // namespace precast::stable_diffusion

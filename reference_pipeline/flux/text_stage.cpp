// The first stage of a run: tokenizes and encodes the texts.
#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <flux/models.hpp>
#include <flux/pipeline_parts.hpp>
#include <process/memory.hpp>

#include <precast/io/message.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/nn/parameter_source.hpp>

namespace precast::flux {

using families::texts_of, text::check_vocabulary;

namespace {

/// Many files hold T5's table of embeddings under both of its names. Modules read the first, and
/// transformers 5 the second where they differ.
void refuse_two_tables(const nn::ParameterSource& t5) {
  constexpr std::string_view name = "shared.weight", other = "encoder.embed_tokens.weight";
  if (DryRun::active() || !t5.contains(name) || !t5.contains(other)) return;
  const nn::Parameter table = t5.find(name), second = t5.find(other);
  if (table.dtype == second.dtype && !std::ranges::equal(table.bytes, second.bytes))
    throw io::file_error(t5.description(), "tensors '" + std::string(name) + "' and '" + std::string(other) +
                                               "' differ, and are one table of T5: get the file again, or "
                                               "leave out the one that is wrong");
}

}  // namespace

Tokens FluxPipeline::Parts::tokenized(const std::string& prompt, const ResolvedRequest& full) const {
  const int longest = t5_length(full);
  Tokens tokens{clip_tokenizer.prompt_ids(prompt, clip_length(), clip_length()),
                t5_tokenizer.prompt_ids(prompt, longest, full.padding.value_or(longest))};
  check_vocabulary(model.component("text_encoder"), tokens.clip, model.clip.vocab_size);
  check_vocabulary(model.component("text_encoder_2"), tokens.t5, model.t5.vocab_size);
  return tokens;
}

std::vector<Prompt> FluxPipeline::Run::encoded_prompts() {
  std::vector<Tokens> tokens;
  for (const std::string& text : texts_of(full())) tokens.push_back(parts_.tokenized(text, full()));
  std::vector<Prompt> prompts(tokens.size());
  if (DryRun::active())  // a dry run encodes only the first text, for all
    std::ranges::swap(tokens.front(),
                      *std::ranges::max_element(tokens, {}, [](const Tokens& ids) { return ids.t5.size(); }));
  const auto encode_all = [&](std::string_view component, std::string_view load, std::string_view encode,
                              auto&& make, auto&& use, auto&& copy) {
    const auto encoder = with_weights({component, load}, make);
    const auto loaded = std::chrono::steady_clock::now();
    const auto tell = [&](std::size_t done) {
      if (progress_)
        progress_({encode, static_cast<std::int64_t>(done), static_cast<std::int64_t>(prompts.size())});
    };
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      tell(i);
      if (i > 0 && DryRun::active())
        copy(prompts[0], prompts[i]);
      else
        use(*encoder, tokens[i], prompts[i]);
    }
    tell(prompts.size());
    result_.text_seconds += process::seconds_since(loaded);
  };
  encode_all(
      "text_encoder", "load CLIP", "encode with CLIP",
      [&](const auto& source) {
        return models_of(parts_.backend, parts_.choices.text_encoder).clip(parts_.model.clip, source);
      },
      [&](const text::ClipTextModel& encoder, const Tokens& ids, Prompt& prompt) {
        prompt.pooled = encoder.encode(ids.clip).pooled;
      },
      [](const Prompt& from, Prompt& to) { to.pooled = from.pooled.clone(); });
  encode_all(
      "text_encoder_2", "load T5", "encode with T5",
      [&](const auto& source) {
        refuse_two_tables(source);
        return models_of(parts_.backend, parts_.choices.of(families::Role::t5_encoder))
            .t5(parts_.model.t5, source);
      },
      [&](const text::T5Encoder& encoder, const Tokens& ids, Prompt& prompt) {
        prompt.embeddings = encoder.encode(ids.t5);
      },
      [](const Prompt& from, Prompt& to) { to.embeddings = from.embeddings.clone(); });
  process::give_back_memory();
  return prompts;
}

}  // namespace precast::flux

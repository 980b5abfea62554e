// drawn_latents: a model's latents, for tests that compare two ways of loading the same model.
#pragma once

#include <vector>

#include <families/registry.hpp>

namespace precast::testing {

/// The latents of a small picture of two steps, every component under one policy, on the host.
inline std::vector<f32> drawn_latents(const families::ModelFiles& files, const PolicyChoice& choice) {
  const auto pipeline =
      families::open(files, families::ComponentChoices::all(choice), families::cpu_backend());
  families::Request request;
  request.prompts = {"a red ring"};
  request.steps = 2;
  request.width = request.height = 32;
  const families::Result result = pipeline->generate(request);
  return {result.latents.values().begin(), result.latents.values().end()};
}

}  // namespace precast::testing

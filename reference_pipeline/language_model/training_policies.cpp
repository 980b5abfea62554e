// The list of policies that language models are trained under.
#include <language_model/compiled_model.hpp>

#include <precast/error.hpp>
#include <precast/io/message.hpp>
#include <precast/policy/paths.hpp>

namespace precast::language_model {

namespace {

/// Whether kernels/ has the unit: it compiles them where nothing is left out but precisions.
template <PolicyType P>
consteval bool compiled() {
  const auto holds = []<class T>(T*) {
    if constexpr (PathDtype<T>)
      return precision_compiled(precision_of<T>);
    else
      return true;
  };
  return compiled_preset == "all" && holds(static_cast<typename P::storage*>(nullptr)) &&
         holds(static_cast<typename P::compute*>(nullptr)) &&
         holds(static_cast<typename P::activation*>(nullptr));
}

template <PolicyType P>
void add(std::vector<TrainingPolicy>& all, std::string name, std::string meaning, bool scales_loss = false) {
  if constexpr (compiled<P>())
    all.push_back({std::move(name), std::move(meaning), scales_loss, &make_trained_model<P>});
}

std::vector<TrainingPolicy> list() {
  std::vector<TrainingPolicy> all;
  add<policies::F32>(all, "f32", "Policy<Storage<f32>>");
  add<policies::NaiveF16>(all, "naive-f16",
                          "Policy<Storage<f16>, Downcast<Matmul, Attention, Norm, Softmax, Reduction, Loss, "
                          "Pointwise>>, parameters and moments in f16");
  add<policies::AmpF16>(all, "amp-f16", "Policy<Storage<f32>, Compute<f16>, Activation<f32>>, loss scaled",
                        true);
  add<policies::AmpBf16>(all, "amp-bf16", "Policy<Storage<f32>, Compute<bf16>, Activation<f32>>");
  add<policies::Bf16>(all, "bf16", "Policy<Storage<bf16>>, masters of parameters in f32");
  add<policies::Fp8>(all, "fp8", "Policy<Storage<f32>, Compute<fp8_e4m3>>");
  return all;
}

}  // namespace

const std::vector<TrainingPolicy>& training_policies() {
  static const std::vector<TrainingPolicy> all = list();
  return all;
}

const TrainingPolicy& training_policy(const std::string& name) {
  std::string names;
  for (const TrainingPolicy& policy : training_policies()) {
    if (policy.name == name) return policy;
    names += (names.empty() ? "" : ", ") + policy.name;
  }
  if (names.empty())
    throw PathNotCompiled("training is not in this build: configure with -DPRECAST_PRESET=all");
  throw InputError("there is no training policy '" + io::printable(name, 40) + "': it is one of " + names);
}

}  // namespace precast::language_model

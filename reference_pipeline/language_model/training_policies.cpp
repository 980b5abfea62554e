// Finds a training policy by name; the list of compiled policies comes from kernels/.
#include <families/request_error.hpp>
#include <language_model/compiled_model.hpp>

#include <precast/error.hpp>
#include <precast/io/joined.hpp>
#include <precast/io/message.hpp>
#include <precast/policy/training_policies.hpp>

namespace precast::language_model {

const std::vector<TrainingPolicy>& training_policies() { return compiled_training_policies(); }

const TrainingPolicy& training_policy(const std::string& name) {
  const auto choice = training_choice_named(name);
  const std::string wanted = choice ? to_string(*choice) : name;
  for (const TrainingPolicy& policy : training_policies())
    if (policy.name == wanted) return policy;
  if (training_policies().empty())
    throw PathNotCompiled(
        "training is not in this build: configure with -DPRECAST_PRESET=all and "
        "-DPRECAST_TRAINING=default");
  if (choice)
    throw PathNotCompiled("the training policy " + wanted + " is not in this build, which holds " +
                          io::joined(training_policies(), ", ", &TrainingPolicy::name) +
                          ": configure with -DPRECAST_TRAINING=all, or with a list that holds it, and with "
                          "-DPRECAST_PRECISIONS=all");
  throw families::RequestError("there is no training policy '" + io::printable(name, 60) + "': name one of " +
                               training_names_in_words());
}

}  // namespace precast::language_model

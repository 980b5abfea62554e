// A policy's name is a template's argument, whose address g++ 12 takes for no constant under UBSan
// (-fsanitize=undefined): what looks for something in it has to look in a copy.
#include <type_traits>

#include <precast/policy/training_policies.hpp>

using namespace precast;

static_assert(std::is_same_v<training_policy_named<"bf16+flash">, Policy<Storage<bf16>, Flash>>);

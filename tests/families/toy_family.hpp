// A family of one linear layer, to show that a family joins by itself.
#pragma once

#include <filesystem>

#include <families/family.hpp>

namespace precast::testing {

const families::Family& toy_family();

/// A model folder of that family.
void write_toy_model(const std::filesystem::path& folder);

}  // namespace precast::testing

// What every proof of kernels is held to.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <simt/proof.hpp>

namespace precast::testing {

/// Proves a test that runs kernels: it passes as they are, fails for each fault that is planted in them, and
/// the documents say what was proved.
inline void check_proof(const std::string& name, const std::function<bool()>& test) {
  const simt::Proof proof = simt::prove(test, {10, 10});
  CHECK(proof.alarms == std::vector<std::string>{});
  CHECK(proof.missed() == std::vector<std::string>{});
  if (!simt::watched_for_races())
    CHECK(simt::difference_from_document(proof, name, PRECAST_SOURCE_DIR "/docs/kernel_proofs.md") == "");
}

}  // namespace precast::testing

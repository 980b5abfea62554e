// The proof of kernels: it accepts a good one, and tells a superfluous barrier, a weak test and an alarm.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <catch2/catch.hpp>
#include <simt/proof.hpp>
#include <support/skip.hpp>
#include <support/temporary_folder.hpp>

#include <precast/cuda/device/cp_async.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>

using namespace precast::gpu;

namespace {

/// The sum over the block, with two barriers that belong to the caller.
PRECAST_DEVICE unsigned sum_over_block(unsigned value, SharedPointer<unsigned> scratch,
                                       Site site = Site::here()) {
  scratch[thread_index()] = value;
  sync_block(site.part(1));
  unsigned sum = 0;
  for (int i = 0; i < threads_in_block(); ++i) sum += scratch[i];
  sync_block(site.part(2));
  return sum;
}

PRECAST_KERNEL void sums_twice(GlobalPointer<const unsigned> from, GlobalPointer<unsigned> to, int count) {
  auto scratch = static_shared<unsigned, 64, struct Scratch>();
  const bool inside = planted<"tile edge">(thread_index() < count, thread_index() < count - 1);
  const unsigned sum = sum_over_block(inside ? from[thread_index()] : 0u, scratch);
  const unsigned total = sum_over_block(sum + static_cast<unsigned>(thread_index()), scratch);
  sync_block();  // superfluous
  to[thread_index()] = total;
}

template <class T>
PRECAST_KERNEL void meets_twice(T) {
  const auto meet = [](auto) { sync_block(); };
  sync_block();
  meet(0);
}

constexpr int summing_threads = 64, summed_values = 60;

bool sums_are_right(bool looks_well = true) {
  std::vector<unsigned> from(summed_values), to(summing_threads);
  unsigned sum = 0;
  for (int i = 0; i < summed_values; ++i)
    sum += from[static_cast<std::size_t>(i)] =
        i == summed_values - 1 && !looks_well ? 0u : static_cast<unsigned>(i + 3);
  launch("sums_twice", sums_twice, {{}, summing_threads}, {},
         GlobalPointer<const unsigned>(from.data(), summed_values),
         global_pointer(to.data(), summing_threads), summed_values);
  return to == std::vector<unsigned>(summing_threads,
                                     summing_threads * sum + summing_threads * (summing_threads - 1) / 2);
}

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("sites have the names of their functions alone, which all compilers spell alike") {
  if (simt::watched_for_races())
    return testing::skip("ThreadSanitizer watches the threads of kernels itself");
  const simt::Proof proof = simt::prove([] {
    launch("meets_twice", meets_twice<int>, {{}, summing_threads}, {}, 0);
    return true;
  });
  REQUIRE(proof.verdicts.size() == 2);
  CHECK(proof.verdicts[0].change == "no sync_block in operator() (test_proof.cpp)");
  CHECK(proof.verdicts[1].change == "no sync_block in meets_twice (test_proof.cpp)");
}

TEST_CASE("a proof names what no run noticed: superfluous barriers") {
  const simt::Proof proof = simt::prove([] { return sums_are_right(); });
  CHECK(proof.clean_runs == 40);
  CHECK(proof.alarms.empty());
  if (simt::watched_for_races())
    return testing::skip("ThreadSanitizer watches the threads of kernels itself");
  REQUIRE(proof.verdicts.size() == 6);
  CHECK(proof.verdicts[0].change == "no sync_block 1 in sums_twice (test_proof.cpp)");
  CHECK(proof.verdicts[0].found_by == "wrong result");
  CHECK(proof.verdicts[5].change == "fault: tile edge");
  CHECK(proof.verdicts[5].found_by == "wrong result");
  // After the second sum nothing is written any more: neither its last barrier nor the one behind it is
  // needed.
  CHECK(proof.missed() ==
        std::vector<std::string>{"sums_twice: no sync_block 4 in sums_twice (test_proof.cpp)",
                                 "sums_twice: no sync_block 5 in sums_twice (test_proof.cpp)"});
}

TEST_CASE("a proof names what no run noticed: a weak test") {
  if (simt::watched_for_races())
    return testing::skip("ThreadSanitizer watches the threads of kernels itself");
  const simt::Proof proof = simt::prove([] { return sums_are_right(false); }, {2, 2});
  CHECK(proof.missed().back() == "sums_twice: fault: tile edge");
}

TEST_CASE("a proof ends with the alarms of a kernel that is wrong") {
  const simt::Proof proof = simt::prove(
      [] {
        launch("wrong", +[] { static_shared<int, 1, struct One>()[1] = 0; }, {{}, 32}, {});
        return true;
      },
      {3, 3});
  CHECK(proof.alarms.size() == 6);
  CHECK_THAT(proof.alarms.at(0),
             Catch::Matchers::Contains("seed 1, copies late: kernel wrong, block (0, 0, 0)"));
}

TEST_CASE("a proof of nothing is an alarm") {
  CHECK(simt::prove([] { return true; }, {1, 1}).alarms.at(0) == "the test launches no kernel");
}

TEST_CASE("a session within another one runs as that one does, and reports to both") {
  const simt::Session outer({.seed = 7, .copies = simt::Copies::early});
  {
    const simt::Session inner;
    CHECK(inner.options().seed == 7);
    CHECK(sums_are_right());
    CHECK(inner.sites().size() == 5);
  }
  CHECK(outer.sites().size() == 5);
  CHECK(outer.faults().size() == 1);
  CHECK(outer.launches().size() == 1);
}

TEST_CASE("a table that is not what a run found is told, and written when asked for") {
  if (simt::watched_for_races())
    return testing::skip("ThreadSanitizer watches the threads of kernels itself");
  const precast::testing::TemporaryFolder folder;
  const auto document = folder.path() / "kernels.md";
  std::ofstream(document) << "# Kernels\n";
  simt::Proof proof;
  proof.verdicts = {{"norm", "no sync_block in norm (norm.hpp)", "wrong result"}};
  unsetenv("PRECAST_UPDATE_DOCS");
  CHECK_THAT(simt::difference_from_document(proof, "norms", document),
             Catch::Matchers::Contains("PRECAST_UPDATE_DOCS=1"));
  CHECK(text_of(document) == "# Kernels\n");
  setenv("PRECAST_UPDATE_DOCS", "1", 1);
  CHECK(simt::difference_from_document(proof, "norms", document).empty());
  unsetenv("PRECAST_UPDATE_DOCS");
  CHECK(simt::difference_from_document(proof, "norms", document).empty());
  proof.verdicts[0].found_by = "";
  CHECK_FALSE(simt::difference_from_document(proof, "norms", document).empty());
  setenv("PRECAST_UPDATE_DOCS", "1", 1);
  CHECK(simt::difference_from_document(proof, "norms", document).empty());
  unsetenv("PRECAST_UPDATE_DOCS");
  CHECK_THAT(text_of(document), Catch::Matchers::EndsWith("| **nothing** |\n<!-- end of verdicts -->\n"));
}

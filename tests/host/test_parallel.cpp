// The thread pool: every task once, errors come back, nesting is serial, oneDNN stays on one thread.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <precast/host/runtime/parallel.hpp>
#include <precast/ops/linear.hpp>
#include <precast/policy/policy.hpp>
#include <precast/tensor/tensor.hpp>

using namespace precast;

namespace {
struct WithThreads {
  explicit WithThreads(int count) : before(host::threads()) { host::set_threads(count); }
  ~WithThreads() { host::set_threads(before); }
  int before;
};
}  // namespace

TEST_CASE("parallel_for runs every task exactly once", "[parallel]") {
  for (const int threads : {1, 2, 3, 7}) {
    const WithThreads scope(threads);
    REQUIRE(host::threads() == threads);
    for (const std::int64_t tasks : {0, 1, 2, 3, 64, 1000}) {
      std::vector<std::atomic<int>> times(static_cast<std::size_t>(tasks) + 1);
      host::parallel_for(tasks, [&](std::int64_t task) { ++times[static_cast<std::size_t>(task)]; });
      for (std::int64_t task = 0; task < tasks; ++task) REQUIRE(times[static_cast<std::size_t>(task)] == 1);
      REQUIRE(times.back() == 0);
    }
  }
}

TEST_CASE("parallel_for takes many short jobs, with and without a pause between them", "[parallel]") {
  const WithThreads scope(4);
  std::atomic<std::int64_t> sum{0};
  std::int64_t expected = 0;
  for (int job = 0; job < 20000; ++job) {
    const std::int64_t tasks = job % 9;
    host::parallel_for(tasks, [&](std::int64_t task) { sum += task + job; });
    expected += tasks * job + tasks * (tasks - 1) / 2;
    if (job % 2000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  REQUIRE(sum == expected);
}

TEST_CASE("parallel_for really uses its threads", "[parallel]") {
  const WithThreads scope(2);
  std::atomic<int> inside{0};
  // Each of the two tasks waits for the other: one thread alone would not end.
  host::parallel_for(2, [&](std::int64_t) {
    ++inside;
    while (inside < 2) std::this_thread::yield();
  });
  REQUIRE(inside == 2);
}

TEST_CASE("parallel_for rethrows what a task throws, and works afterwards", "[parallel]") {
  for (const int threads : {1, 3}) {
    const WithThreads scope(threads);
    for (int round = 0; round < 50; ++round) {
      std::string caught;
      try {
        host::parallel_for(20, [&](std::int64_t task) {
          if (task == 0) throw std::runtime_error("task 0");
          if (task == 19) throw std::runtime_error("task 19");
        });
      } catch (const std::runtime_error& error) {
        caught = error.what();
      }
      REQUIRE((caught == "task 0" || caught == "task 19"));
      std::atomic<int> count{0};
      host::parallel_for(20, [&](std::int64_t) { ++count; });
      REQUIRE(count == 20);
    }
  }
}

TEST_CASE("a parallel_for inside a task runs on that task's thread", "[parallel]") {
  const WithThreads scope(3);
  std::atomic<int> strays{0}, count{0};
  host::parallel_for(6, [&](std::int64_t) {
    const auto here = std::this_thread::get_id();
    host::parallel_for(5, [&](std::int64_t) {
      ++count;
      if (std::this_thread::get_id() != here) ++strays;
    });
  });
  REQUIRE(count == 30);
  REQUIRE(strays == 0);
}

TEST_CASE("two threads may call parallel_for at once", "[parallel]") {
  const WithThreads scope(3);
  std::atomic<std::int64_t> count{0};
  const auto jobs = [&] {
    for (int i = 0; i < 2000; ++i) host::parallel_for(7, [&](std::int64_t) { ++count; });
  };
  std::thread other(jobs);
  jobs();
  other.join();
  REQUIRE(count == 2 * 2000 * 7);
}

TEST_CASE("oneDNN's OpenMP has one thread inside a task, and what it had before outside", "[parallel]") {
  const WithThreads scope(2);
  const int before = omp_get_max_threads();
  omp_set_num_threads(5);
  std::atomic<int> wrong{0};
  host::parallel_for(64, [&](std::int64_t) {
    if (omp_get_max_threads() != 1) ++wrong;
  });
  REQUIRE(wrong == 0);
  REQUIRE(omp_get_max_threads() == 5);
  REQUIRE_THROWS(host::parallel_for(4, [](std::int64_t) { throw Error("no"); }));
  REQUIRE(omp_get_max_threads() == 5);
  omp_set_num_threads(before);
}

TEST_CASE("a number of threads that makes no sense is refused", "[parallel]") {
  REQUIRE_THROWS_AS(host::set_threads(0), Error);
  REQUIRE_THROWS_AS(host::set_threads(-3), Error);
  REQUIRE_THROWS_AS(host::set_threads(100000), Error);
  const WithThreads scope(2);
  REQUIRE_THROWS_AS(host::parallel_for(2, [](std::int64_t) { host::set_threads(3); }), Error);
  REQUIRE(host::threads() == 2);
}

TEST_CASE("threads are as many as the cores that a process may run on, or as PRECAST_THREADS says",
          "[parallel]") {
  struct AsBefore {
    AsBefore() { sched_getaffinity(0, sizeof cores, &cores); }
    ~AsBefore() {
      sched_setaffinity(0, sizeof cores, &cores);
      set(value);
    }
    static void set(const std::optional<std::string>& to) {
      to ? setenv("PRECAST_THREADS", to->c_str(), 1) : unsetenv("PRECAST_THREADS");
    }
    cpu_set_t cores{};
    std::optional<std::string> value = std::getenv("PRECAST_THREADS")
                                           ? std::optional<std::string>(std::getenv("PRECAST_THREADS"))
                                           : std::nullopt;
  } const before;

  AsBefore::set(std::nullopt);
  const int all = CPU_COUNT(&before.cores);
  CHECK(host::default_threads() == all);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int core = 0; CPU_COUNT(&one) == 0; ++core)
    if (CPU_ISSET(core, &before.cores)) CPU_SET(core, &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(host::available_cores() == 1);
  CHECK(host::default_threads() == 1);

  AsBefore::set("3");
  CHECK(host::default_threads() == 3);
  AsBefore::set("");
  CHECK(host::default_threads() == 1);
  for (const char* wrong : {"0", "-2", "1025", "4x", "two", "99999999999", " 2"}) {
    AsBefore::set(wrong);
    CHECK_THROWS_WITH(host::default_threads(),
                      Catch::Contains("PRECAST_THREADS is '" + std::string(wrong) + "'"));
  }
}

// Hidden: the case below runs it in a process of its own.
TEST_CASE("exit on a worker", "[.exit_on_a_worker]") {
  host::set_threads(4);
  const auto here = std::this_thread::get_id();
  for (int i = 0; i < 1000; ++i)
    host::parallel_for(64, [&](std::int64_t) {
      if (std::this_thread::get_id() != here) std::exit(1);
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    });
}

// Hidden: the case below runs it in a process of its own.
TEST_CASE("threads are said before anything asks", "[.threads_are_said]") {
  host::set_threads(2);
  CHECK(host::threads() == 2);
}

TEST_CASE("a program that says its threads does not look at PRECAST_THREADS") {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  CHECK(std::system(("PRECAST_THREADS=many '" + self + "' '[.threads_are_said]' > /dev/null 2>&1").c_str()) ==
        0);
}

TEST_CASE("a library that calls exit on a worker ends the program, and does not crash it") {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const int status = std::system(("'" + self + "' '[.exit_on_a_worker]' > /dev/null 2>&1").c_str());
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
}

TEST_CASE("the child of a fork runs none of another thread's tasks, and takes memory that it was taking",
          "[parallel][fork]") {
  const WithThreads scope(4);
  const pid_t parent = ::getpid();
  std::atomic<bool> ended = false;
  std::atomic<int> of_parent_in_child{0};
  std::thread works([&] {
    while (!ended)
      host::parallel_for(64, [&](std::int64_t) {
        if (::getpid() != parent) ++of_parent_in_child;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      });
  });
  std::thread allocates([&] {
    while (!ended) Tensor<f32, HostMemory>(Shape{64});
  });
  int right = 0;
  constexpr int forks = 20;
  for (int i = 0; i < forks; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      bool all = true;
      for (int job = 0; job < 5; ++job) {
        std::atomic<int> done{0};
        host::parallel_for(64, [&](std::int64_t) { done += Tensor<f32, HostMemory>(Shape{16}).rows() == 1; });
        all = all && done == 64;
      }
      ::_exit(all && of_parent_in_child == 0 ? 0 : 1);
    }
    int status = 0;
    if (child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0)
      ++right;
  }
  ended = true;
  works.join();
  allocates.join();
  CHECK(right == forks);
}

TEST_CASE("the child of a fork multiplies while another thread of its parent was making code",
          "[parallel][fork]") {
  using P = Policy<Storage<f32>>;
  const auto multiply = [](std::int64_t rows, std::int64_t features) {
    const HostTensor<f32> x(Shape{rows, 64}, std::vector<f32>(static_cast<std::size_t>(rows) * 64, 1.0f));
    const HostTensor<f32> weight(Shape{features, 64},
                                 std::vector<f32>(static_cast<std::size_t>(features) * 64, 0.5f));
    return linear<P>(x, LinearWeight<P>(weight)).values()[0] == 32.0f;
  };
  REQUIRE(multiply(40, 64));
  std::atomic<bool> ended = false;
  std::thread makes_code([&] {
    for (std::int64_t i = 0; !ended; ++i) multiply(20 + i % 400, 64 + 16 * (i / 400 % 8));
  });
  int right = 0;
  constexpr int forks = 40;
  for (int i = 0; i < forks; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      ::_exit(multiply(33 + i, 80) ? 0 : 1);
    }
    int status = 0;
    if (child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0)
      ++right;
  }
  ended = true;
  makes_code.join();
  CHECK(right == forks);
}

TEST_CASE("the child of a fork has no workers: it starts others, and ends", "[parallel][fork]") {
  const WithThreads scope(4);
  const auto all_tasks = [] {
    std::atomic<int> done{0};
    for (int job = 0; job < 10; ++job) host::parallel_for(100, [&](std::int64_t) { ++done; });
    return done == 1000;
  };
  REQUIRE(all_tasks());
  for (const auto pause : {0, 20}) {  // while workers look for a job, and while they sleep
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::alarm(30);
      bool right = all_tasks();
      host::set_threads(3);
      right = all_tasks() && right;
      host::set_threads(1);  // joins them; what exit() does is in program_end, as it would end Catch's report
      ::_exit(right ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    REQUIRE(all_tasks());
  }
}

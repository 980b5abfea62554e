#include <atomic>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <precast/memory/made_once.hpp>

namespace {

using precast::detail::made_once;

struct Object {
  int number = 0;
};
const auto nothing_at_end = [] {};

}  // namespace

TEST_CASE("an object that threads ask for at once is one object, and is kept") {
  static std::atomic<Object*> object{nullptr};
  std::atomic<int> asking{0};
  std::vector<Object*> given(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < given.size(); ++i)
    threads.emplace_back([&, i] {
      ++asking;
      while (asking < 8) std::this_thread::yield();
      given[i] = &made_once(
          object, [] { return std::make_unique<Object>(); }, nothing_at_end);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(std::set(given.begin(), given.end()) == std::set{object.load()});
}

TEST_CASE("where making an object fails, the next that asks makes it") {
  static std::atomic<Object*> object{nullptr};
  const auto fails = []() -> std::unique_ptr<Object> { throw std::runtime_error("no object"); };
  CHECK_THROWS_WITH(made_once(object, fails, nothing_at_end), "no object");
  CHECK(made_once(
            object, [] { return std::make_unique<Object>(Object{3}); }, nothing_at_end)
            .number == 3);
}

TEST_CASE("the child of a fork makes an object that another thread was making", "[fork]") {
  static std::atomic<Object*> object{nullptr};
  std::atomic<bool> making{false}, may_go_on{false};
  std::thread other([&] {
    const auto slowly = [&] {
      making = true;
      while (!may_go_on) std::this_thread::yield();
      return std::make_unique<Object>(Object{1});
    };
    made_once(object, slowly, nothing_at_end);
  });
  while (!making) std::this_thread::yield();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    const auto make = [] { return std::make_unique<Object>(Object{2}); };
    ::_exit(made_once(object, make, nothing_at_end).number);
  }
  may_go_on = true;
  other.join();
  REQUIRE(child > 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 2);
  CHECK(object.load()->number == 1);
}

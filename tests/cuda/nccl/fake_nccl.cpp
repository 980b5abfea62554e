// A library with NCCL's functions that writes down how it is called. It adds nothing up.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace {

std::string calls, failing;
int failure = 0;

int called(const std::string& function, const std::string& with = "") {
  calls += function + "(" + with + ")\n";
  return failing == function ? failure : 0;
}

template <class... Numbers>
std::string listed(Numbers... numbers) {
  std::string all;
  ((all += (all.empty() ? "" : ", ") + std::to_string(numbers)), ...);
  return all;
}

struct Id {
  char bytes[128];
};

std::intptr_t number_of(const void* pointer) { return reinterpret_cast<std::intptr_t>(pointer); }

}  // namespace

extern "C" {

/// What was called since it was asked last.
const char* fake_nccl_calls() {
  static std::string last;
  last.swap(calls);
  calls.clear();
  return last.c_str();
}
/// From now on a function gives this result.
void fake_nccl_fail(const char* function, int result) {
  failing = function;
  failure = result;
}

int ncclGetUniqueId(Id* id) {
  std::memset(id->bytes, 7, sizeof id->bytes);
  return called("ncclGetUniqueId");
}
int ncclCommInitRank(void** rank, int ranks, Id id, int number) {
  *rank = reinterpret_cast<void*>(static_cast<std::intptr_t>(100 + number));
  return called("ncclCommInitRank", listed(ranks, static_cast<int>(id.bytes[127]), number));
}
int ncclAllReduce(const void* from, void* to, std::size_t count, int dtype, int operation, void* rank,
                  void* stream) {
  return called("ncclAllReduce", listed(from == to ? 1 : 0, count, dtype, operation, number_of(rank)) +
                                     (stream ? "" : ", the default stream"));
}
int ncclBroadcast(const void* from, void* to, std::size_t count, int dtype, int root, void* rank,
                  void* stream) {
  return called("ncclBroadcast", listed(from == to ? 1 : 0, count, dtype, root, number_of(rank)) +
                                     (stream ? "" : ", the default stream"));
}
int ncclCommGetAsyncError(void* rank, int* result) {
  *result = failing == "later" ? failure : 0;
  return called("ncclCommGetAsyncError", listed(number_of(rank)));
}
int ncclCommDestroy(void* rank) { return called("ncclCommDestroy", listed(number_of(rank))); }
int ncclCommAbort(void* rank) { return called("ncclCommAbort", listed(number_of(rank))); }
const char* ncclGetErrorString(int result) { return result == 6 ? "remote process exited" : "another error"; }
}

// The main() of the cases on a device. Without a device it says why there is none and runs nothing: ctest
// takes such a test as skipped.
#include <cstdio>
#include <optional>
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <precast/cuda/matmul/product_library.hpp>
#include <precast/cuda/runtime/cublaslt_library.hpp>
#include <precast/cuda/runtime/device.hpp>

int main(int argc, char** argv) {
  using namespace precast;
  Catch::Session session;
  bool own_products = false;
  session.cli(session.cli() | Catch::clara::Opt(own_products)["--own-products"](
                                  "multiply by our own kernels alone, without cuBLASLt"));
  if (const int error = session.applyCommandLine(argc, argv); error != 0) return error;
  const Catch::ConfigData& asked = session.configData();
  if (asked.showHelp || asked.listTests || asked.listTags || asked.listTestNamesOnly) return session.run();

  const cuda::FoundDevice found = cuda::find_device();
  if (!found.device) {
    std::printf("skipped: %s\n", found.reason.c_str());
    return 0;
  }
  std::optional<cuda::ProductLibraryScope> without_library;
  if (own_products) without_library.emplace(cuda::ProductLibrary{});
  std::printf("%s; products by %s\n", found.device->name.c_str(),
              own_products ? "our own kernels" : cuda::CublasLtLibrary::instance().described().c_str());
  return session.run();
}

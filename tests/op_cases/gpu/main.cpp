// The main() of the cases on a device. Without a device it says why there is none and runs nothing: ctest
// takes such a test as skipped.
#include <cstdio>
#include <optional>
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <precast/cuda/conv/cudnn.hpp>
#include <precast/cuda/matmul/cublaslt.hpp>
#include <precast/cuda/runtime/code_probe.hpp>
#include <precast/cuda/runtime/cublaslt_library.hpp>
#include <precast/cuda/runtime/device.hpp>

int main(int argc, char** argv) {
  using namespace precast;
  Catch::Session session;
  bool own_kernels = false;
  session.cli(session.cli() | Catch::clara::Opt(own_kernels)["--own-kernels"](
                                  "our own kernels alone, without cuBLASLt and cuDNN"));
  if (const int error = session.applyCommandLine(argc, argv); error != 0) return error;
  const Catch::ConfigData& asked = session.configData();
  if (asked.showHelp || asked.listTests || asked.listTags || asked.listTestNamesOnly) return session.run();

  const gpu::FoundDevice found = gpu::find_device(0, &gpu::probe_code<gpu::LibraryKernels>);
  if (!found.device) {
    std::printf("skipped: %s\n", found.reason.c_str());
    return 0;
  }
  gpu::use_device(*found.device);
  std::optional<gpu::LibraryScope<gpu::ProductLibrary>> without_products;
  std::optional<gpu::LibraryScope<gpu::ConvLibrary>> without_convolutions;
  if (own_kernels) {
    without_products.emplace(gpu::ProductLibrary{});
    without_convolutions.emplace(gpu::ConvLibrary{});
    std::printf("%s: our own kernels alone\n", found.device->name.c_str());
  } else {
    std::printf("%s: products by cuBLASLt (%s), convolutions by %s\n", found.device->name.c_str(),
                gpu::CublasLtLibrary::instance().described().c_str(), gpu::convolutions_described().c_str());
  }
  return session.run();
}

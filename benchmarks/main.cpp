// The program of all benchmarks here: Google Benchmark's own, with the heap as `precast` keeps it.
#include <benchmark/benchmark.h>
#include <process/memory.hpp>

int main(int argc, char** argv) {
  precast::process::configure_heap();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

// What the machine tells the session, if there is one.
#pragma once

#include <algorithm>
#include <vector>

#include <simt/session.hpp>

namespace simt {

struct Recorder {
  static Session* session();
  static void add(const LaunchRecord& launch, const std::vector<KernelSite>& sites,
                  const std::vector<KernelFault>& faults);
  static void count_upload();
  static void count_wait();
  static void count_stream_wait();
};

}  // namespace simt

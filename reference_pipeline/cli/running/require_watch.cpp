#include <cli/running/require_watch.hpp>

#include <precast/error.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::cli {

void require_watch(const std::string& option) {
  if (!watch::compiled)
    throw PathNotCompiled(option +
                          " watches every op, and ops of this build cannot be watched: configure with "
                          "-DPRECAST_WATCH=on");
}

}  // namespace precast::cli

// Spells the cures of a trace as options of the command line.
#include <cli/cure_option.hpp>

namespace precast::cli {

std::string option_of(watch::Cure cure) {
  switch (cure) {
    case watch::Cure::store_f32:
      return "--precision f32";
    case watch::Cure::store_bf16:
      return "--precision bf16";
    case watch::Cure::upcast_attention:
      return "--upcast-attention";
    case watch::Cure::upcast_matmul:
      return "--upcast-matmul";
    case watch::Cure::flash:
      return "--flash";
    case watch::Cure::saturate:
    case watch::Cure::no_downcast:
      return (cure == watch::Cure::saturate ? "a policy with " : "") + watch::in_policy(cure) + " in C++";
    case watch::Cure::none:
      break;
  }
  return {};
}

}  // namespace precast::cli

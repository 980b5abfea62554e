// Spells the cures of a trace as command-line options.
#include <cli/running/component_of.hpp>
#include <cli/running/cure_option.hpp>

#include <precast/watch/trace.hpp>

namespace precast::cli {

namespace {

/// The option for the precision of the component in an op's path: "--vae-precision".
std::string precision_option(std::string_view path) {
  const std::string_view component = component_of_base(path);
  if (component == "unet" || component == "vae" || component == "transformer")
    return "--" + std::string(component) + "-precision";
  return component.starts_with("text_encoder") ? "--text-precision" : "--precision";
}

}  // namespace

std::string option_of(watch::Cure cure, std::string_view path) {
  switch (cure) {
    case watch::Cure::store_f32:
      return precision_option(path) + " f32";
    case watch::Cure::store_bf16:
      return precision_option(path) + " bf16";
    case watch::Cure::upcast_attention:
      return "--upcast-attention";
    case watch::Cure::upcast_matmul:
      return "--upcast-matmul";
    case watch::Cure::upcast_conv:
      return "--upcast-conv";
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

std::string diagnosis(const watch::NonFinite& found) {
  return watch::diagnosis(found, [&](watch::Cure cure) { return option_of(cure, found.record.path); });
}

}  // namespace precast::cli

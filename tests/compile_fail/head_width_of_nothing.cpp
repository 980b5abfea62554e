// expect: attention: HeadWidths<...> takes one or more widths, each above 0.
#include <precast/problem/attention_choice.hpp>

using namespace precast;

#ifdef MISTAKE
constexpr HeadWidths<0> widths;
#else
constexpr HeadWidths<64> widths;
#endif

static_assert(sizeof widths > 0);

// expect: OpClass
#include <precast/policy/op_table.hpp>
#include <precast/policy/presets.hpp>

using namespace precast;

#ifdef MISTAKE
using Row = precisions<presets::Fast, f32>;
#else
using Row = precisions<presets::Fast, Attention>;
#endif

// expect: attention: HeadWidths is given twice: name all widths in one.
#include <precast/problem/attention_choice.hpp>

using namespace precast;

#ifdef MISTAKE
using Choice = chosen_attention<HeadWidths<64>, WithoutBias, HeadWidths<128>>;
#else
using Choice = chosen_attention<HeadWidths<64, 128>, WithoutBias>;
#endif

static_assert(!Choice::biased);

// expect: attention: WithoutBias is given twice.
#include <precast/problem/attention_choice.hpp>

using namespace precast;

#ifdef MISTAKE
using Choice = chosen_attention<WithoutBias, HeadWidths<64>, WithoutBias>;
#else
using Choice = chosen_attention<HeadWidths<64, 128>, WithoutBias>;
#endif

static_assert(!Choice::biased);

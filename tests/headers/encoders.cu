// nvcc crashes on vectors that the search encoder computes on.
#include <precast/quant/encode.hpp>

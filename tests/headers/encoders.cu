// nvcc does not compile the vectors that encoders compute on.
#include <precast/quant/encode.hpp>

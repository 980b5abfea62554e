# Whether kernels widen narrow dtypes by one product each that keeps an operand which is subnormal in f32: what C++ multiplies,
# the PTX of -use_fast_math flushes to zero.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND "${NVCC}" -std=c++20 -arch=sm_80 -use_fast_math "-I${INCLUDE}" -ptx "${SOURCE}" -o "${PTX}"
                RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${SOURCE} does not compile")
endif()
file(STRINGS "${PTX}" arithmetic REGEX "(add|sub|mul|fma|div)[.a-z]*[.]f32")
string(REGEX MATCHALL "mul[.]rn[.]f32" exact "${arithmetic}")
list(LENGTH arithmetic count)
list(LENGTH exact exact_count)
if(NOT count EQUAL 3 OR NOT exact_count EQUAL 3)
  message(FATAL_ERROR "narrow dtypes are widened by\n${arithmetic}\nand not by three products that keep subnormal numbers")
endif()

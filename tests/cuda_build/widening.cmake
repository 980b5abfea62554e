# Whether kernels widen narrow dtypes by one product each that keeps an operand which is subnormal in f32, and decode blocks by
# products that keep such a scale: what C++ multiplies, the PTX of -use_fast_math flushes to zero.
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
# 3 codes by themselves, 7 in blocks, and 12 products with scales.
if(NOT count EQUAL 22 OR NOT exact_count EQUAL 22)
  message(FATAL_ERROR "narrow dtypes are widened and blocks decoded by\n${arithmetic}\nand not by 22 products that keep "
                      "subnormal numbers")
endif()

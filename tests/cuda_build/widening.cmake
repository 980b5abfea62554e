# Whether kernels widen narrow dtypes without an operand that is subnormal in f32, which the PTX of -use_fast_math flushes to
# zero: by one difference of normal numbers each, and no product.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND "${NVCC}" -std=c++20 -arch=sm_80 -use_fast_math "-I${INCLUDE}" -ptx "${SOURCE}" -o "${PTX}"
                RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${SOURCE} does not compile")
endif()
file(STRINGS "${PTX}" arithmetic REGEX "(add|sub|mul|fma|div)[.a-z]*[.]f32")
list(LENGTH arithmetic count)
set(products "${arithmetic}")
list(FILTER products INCLUDE REGEX "mul|fma|div")
if(products OR NOT count EQUAL 3)
  message(FATAL_ERROR "narrow dtypes are widened by\n${arithmetic}\nand not by three additions or differences")
endif()

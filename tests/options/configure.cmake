# Configures SOURCE with OPTIONS (separated by |). Either it must fail and say SAYS, or it must succeed with PATHS
# kernel sources, SOURCE_OF.cpp among them.
cmake_minimum_required(VERSION 3.25)

set(build "${SCRATCH}/${NAME}")
file(REMOVE_RECURSE "${build}")
string(REPLACE ";" "\\;" OPTIONS "${OPTIONS}")
string(REPLACE "|" ";" OPTIONS "${OPTIONS}")
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${build}" -G "${GENERATOR}"
                        "-DCMAKE_CXX_COMPILER=${COMPILER}" -DPRECAST_BUILD_TESTS=OFF -DPRECAST_BUILD_EXAMPLES=OFF
                        -DPRECAST_BUILD_BENCHMARKS=OFF ${OPTIONS}
                RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
string(REGEX REPLACE "[ \n]+" " " errors "${errors}")

if(SAYS)
  if(result EQUAL 0)
    message(FATAL_ERROR "the mistake configures")
  endif()
  string(FIND "${errors}" "${SAYS}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "CMake does not say: ${SAYS}\nIt says: ${errors}")
  endif()
else()
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "does not configure: ${errors}")
  endif()
  file(GLOB sources RELATIVE "${build}/kernels" "${build}/kernels/*.cpp")
  list(LENGTH sources count)
  if(NOT count EQUAL PATHS OR NOT "${SOURCE_OF}.cpp" IN_LIST sources)
    message(FATAL_ERROR "expected ${PATHS} paths with ${SOURCE_OF} among them, found ${count}: ${sources}")
  endif()
endif()
file(REMOVE_RECURSE "${build}")

# Builds the program for one preset with CUDA, and runs it: on the CPU where there is no device, with one line that says
# why where CUDA was asked for and is not to be had.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  set(result "${result}" PARENT_SCOPE)
  set(said "${output}${errors}" PARENT_SCOPE)
endfunction()

run("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BUILD}" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
    "-DCMAKE_CUDA_COMPILER=${NVCC}" -DCMAKE_BUILD_TYPE=Release -DPRECAST_CUDA=on -DPRECAST_PRESET=fast
    -DPRECAST_BUILD_TESTS=OFF -DPRECAST_BUILD_EXAMPLES=OFF -DPRECAST_BUILD_BENCHMARKS=OFF)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "does not configure:\n${said}")
endif()
run("${CMAKE_COMMAND}" --build "${BUILD}" --parallel --target precast_program)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "does not build:\n${said}")
endif()

set(generate "${BUILD}/precast" generate --prompt "a large red circle on a blue background, at the left" --steps 2
             --output "${BUILD}/picture.png")
run(${generate})
if(NOT result EQUAL 0 OR NOT said MATCHES "device auto: ")
  message(FATAL_ERROR "the program does not choose a device and say so:\n${said}")
endif()
run(${generate} --device cuda)
if(NOT result EQUAL 0 AND NOT said MATCHES "^precast: error: device cuda cannot be used: [^\n]+\n$")
  message(FATAL_ERROR "the program neither runs on CUDA nor says in one line why not:\n${said}")
endif()
file(REMOVE_RECURSE "${BUILD}")

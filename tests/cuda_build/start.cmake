# Runs the program that holds CUDA: on the CPU where there is no device, with one line that says why where CUDA was
# asked for and is not to be had.
cmake_minimum_required(VERSION 3.25)

include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

set(generate "${PROGRAM}" generate --prompt "a large red circle on a blue background, at the left" --steps 2
             --output "${PICTURE}")
run(${generate})
if(NOT result EQUAL 0 OR NOT said MATCHES "device auto: ")
  message(FATAL_ERROR "the program does not choose a device and say so:\n${said}")
endif()
run(${generate} --device cuda)
if(NOT result EQUAL 0 AND NOT said MATCHES "^precast: error: device cuda cannot be used: [^\n]+\n$")
  message(FATAL_ERROR "the program neither runs on CUDA nor says in one line why not:\n${said}")
endif()

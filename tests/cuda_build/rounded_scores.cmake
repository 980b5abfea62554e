# Whether the PTX of attention's gradients rounds a scaled score before the logarithm of its row's sum is taken off it. ptxas may
# fuse a mul.f32 with the sub.f32 that follows; a mul.rn.f32 it may not.
cmake_minimum_required(VERSION 3.25)

file(READ "${PTX}" code)
if(NOT code MATCHES "tiled_gradient_kernel" OR NOT code MATCHES "mul[.a-z]*[.]f32")
  message(FATAL_ERROR "${PTX} is not of a kernel that scales scores")
endif()
string(REPLACE ";" "," code "${code}")
string(REGEX MATCHALL "mul[.]f32[^,]+,[^,]+,[^,]+,[ \t\r\n]+sub[.]f32[^,]+,[^,]+," pairs "${code}")
foreach(pair IN LISTS pairs)
  if(pair MATCHES "mul[.]f32[ \t]+(%f[0-9]+),.*sub[.]f32[^,]+, (%f[0-9]+)," AND CMAKE_MATCH_1 STREQUAL CMAKE_MATCH_2)
    message(FATAL_ERROR "${PTX} has a scaled score that is not rounded: ${pair}")
  endif()
endforeach()

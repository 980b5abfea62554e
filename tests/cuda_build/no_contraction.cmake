# Whether the PTX of kernels that multiply and add has no product that is contracted with a sum.
cmake_minimum_required(VERSION 3.25)

file(READ "${PTX}" code)
if(NOT code MATCHES "(mul|fma)[.a-z]*.f32" OR NOT code MATCHES "add[.a-z]*.f32")
  message(FATAL_ERROR "${PTX} is not of kernels that multiply and add")
endif()
if(code MATCHES "[^\n]*fma.rn[^\n]*")
  message(FATAL_ERROR "${PTX} has a contracted product: ${CMAKE_MATCH_0}")
endif()

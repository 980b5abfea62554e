# PRECAST_CUDA: whether models are compiled for CUDA too. Sets PRECAST_CUDA_ENABLED, and makes CUDA a language of the
# project where it is.
set(PRECAST_CUDA "auto" CACHE STRING "Compile the pipeline's models for CUDA too: on, off, or auto (where nvcc is found)")
set_property(CACHE PRECAST_CUDA PROPERTY STRINGS auto on off)
# What CMake's own variable says is meant; else the device that is there is whose kernels are wanted first of all.
file(GLOB _devices /dev/nvidia[0-9]*)
set(_architectures 80)
if(CMAKE_CUDA_ARCHITECTURES)
  set(_architectures "${CMAKE_CUDA_ARCHITECTURES}")
elseif(_devices)
  set(_architectures native)
endif()
set(PRECAST_CUDA_ARCHITECTURES "${_architectures}" CACHE STRING "Compute capabilities to compile kernels for: 80, 86, 89, 90 or 90a (with kernels for warpgroups), 100, 120; newer devices run the newest of them")

set(PRECAST_CUDA_ENABLED OFF)
string(TOLOWER "${PRECAST_CUDA}" _cuda)
if(NOT _cuda MATCHES "^(auto|on|off)$")
  message(FATAL_ERROR "PRECAST_CUDA is \"${PRECAST_CUDA}\": it takes auto, on or off.")
endif()
if(_cuda STREQUAL "on" AND NOT PRECAST_BUILD_PIPELINE)
  message(WARNING "PRECAST_CUDA=on compiles the pipeline's models for CUDA, and PRECAST_BUILD_PIPELINE is OFF: it changes nothing. "
                  "The headers need no option for CUDA; -DPRECAST_BUILD_PIPELINE=ON builds the pipeline.")
endif()
if(PRECAST_BUILD_PIPELINE AND NOT _cuda STREQUAL "off")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(_codes "${PRECAST_CUDA_ARCHITECTURES}")
    list(TRANSFORM _codes REPLACE "-(real|virtual)$" "")
    if(PRECAST_CUDA_ARCHITECTURES STREQUAL "")
      message(FATAL_ERROR "PRECAST_CUDA_ARCHITECTURES is empty: it takes native, or a list of compute capabilities of 80 and "
                          "newer, as in -DPRECAST_CUDA_ARCHITECTURES=\"80;90a\".")
    endif()
    foreach(_code IN LISTS _codes)
      if(NOT _codes STREQUAL "native" AND (NOT _code MATCHES "^([0-9]+)[af]?$" OR CMAKE_MATCH_1 LESS 80))
        message(FATAL_ERROR "PRECAST_CUDA_ARCHITECTURES holds \"${_code}\": it takes native by itself, or a list of compute capabilities "
                            "of 80 and newer, as in -DPRECAST_CUDA_ARCHITECTURES=\"80;90a\".")
      endif()
    endforeach()
    if("90" IN_LIST _codes AND "90a" IN_LIST _codes)
      message(FATAL_ERROR "PRECAST_CUDA_ARCHITECTURES is \"${PRECAST_CUDA_ARCHITECTURES}\": a device of compute capability 9.0 "
                          "runs one of 90 and 90a, and host code chooses kernels for warpgroups where 90a is there. Leave 90 out.")
    endif()
    set(CMAKE_CUDA_ARCHITECTURES "${PRECAST_CUDA_ARCHITECTURES}")
    enable_language(CUDA)
    # nvcc's -O is of host code alone, which launches kernels here: -O3 takes it a third longer than -O1.
    string(REPLACE "-O3" "-O1" CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")
    if(CMAKE_CUDA_ARCHITECTURES STREQUAL "native" AND NOT CMAKE_CUDA_ARCHITECTURES_NATIVE)
      message(FATAL_ERROR "PRECAST_CUDA_ARCHITECTURES is \"native\", and no NVIDIA device was found: name compute capabilities, "
                          "as in -DPRECAST_CUDA_ARCHITECTURES=\"80;90a\".")
    endif()
    # CMake's native leaves out kernels for warpgroups, which a Hopper device runs.
    if(CMAKE_CUDA_ARCHITECTURES STREQUAL "native" AND CMAKE_CUDA_ARCHITECTURES_NATIVE MATCHES "^90(-real)?$")
      set(CMAKE_CUDA_ARCHITECTURES 90a-real)
    endif()
    # What `precast --version` says.
    set(PRECAST_CUDA_ARCHITECTURES_TEXT "${CMAKE_CUDA_ARCHITECTURES}")
    if(PRECAST_CUDA_ARCHITECTURES_TEXT STREQUAL "native")
      set(PRECAST_CUDA_ARCHITECTURES_TEXT "${CMAKE_CUDA_ARCHITECTURES_NATIVE}")
    endif()
    string(REGEX REPLACE "-(real|virtual)" "" PRECAST_CUDA_ARCHITECTURES_TEXT "${PRECAST_CUDA_ARCHITECTURES_TEXT}")
    string(REPLACE ";" " sm_" PRECAST_CUDA_ARCHITECTURES_TEXT "${PRECAST_CUDA_ARCHITECTURES_TEXT}")
    find_package(CUDAToolkit REQUIRED)
    set(PRECAST_CUDA_ENABLED ON)
  elseif(_cuda STREQUAL "on")
    message(FATAL_ERROR "PRECAST_CUDA=on, and nvcc was not found: put it on PATH or set CMAKE_CUDA_COMPILER; "
                        "-DPRECAST_CUDA=off builds without CUDA.")
  endif()
endif()

# precast_compile_cuda(target): the flags of what nvcc compiles here.
function(precast_compile_cuda target)
  # CMake 3.25 does not know CUDA's standard 20. What host code computes depends on the same flags in both compilers, since
  # a linker keeps one of two inline functions.
  set(options -std=c++20 -Xcompiler=-ffp-contract=off)
  if(PRECAST_HOST_ARCH)
    list(APPEND options -Xcompiler=-march=${PRECAST_HOST_ARCH})
  endif()
  # A third of the bytes that nvcc's default leaves, for 5 s more a unit: what a preset is shipped for. Drivers older than CUDA
  # 12.4's cannot read it, and what CUDA 13 builds they cannot run either.
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13 AND NOT PRECAST_PRESET STREQUAL "all")
    list(APPEND options --compress-mode=size)
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${options}>")
  # nvcc's host compiler, which chooses the kernels, cannot know what nvcc compiles for.
  if("${CMAKE_CUDA_ARCHITECTURES}" MATCHES "90a")
    target_compile_definitions(${target} PRIVATE PRECAST_SM_90A=1)
  endif()
  if(PRECAST_CCACHE)
    set_target_properties(${target} PROPERTIES CUDA_COMPILER_LAUNCHER "${PRECAST_CCACHE}")
  endif()
endfunction()

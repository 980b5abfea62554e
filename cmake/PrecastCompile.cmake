# precast_compile(target [cold|test|host_test|light_test]): the flags of all C++ that is built here; nvcc's are
# precast_compile_cuda's. `cold` code, which parses and prints, is optimised less than kernels are; `test` code still less,
# since compiling it costs more than running it, and a `light_test`, which computes next to nothing, not at all. A `host_test`
# is a test with kernels of the host in it, which sanitizers make too slow where nothing is optimised.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()

find_program(PRECAST_CCACHE ccache)
mark_as_advanced(PRECAST_CCACHE)

set(precast_flags
    -ffp-contract=off  # a value is rounded where the op table says so: no fused multiply-add behind its back
    -Wall -Wextra -Wpedantic -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Wundef)
if(PRECAST_HOST_ARCH)
  include(CheckCXXCompilerFlag)
  string(MAKE_C_IDENTIFIER "PRECAST_COMPILES_FOR_${PRECAST_HOST_ARCH}" _compiles)
  check_cxx_compiler_flag("-march=${PRECAST_HOST_ARCH}" ${_compiles})
  if(NOT ${_compiles})
    message(FATAL_ERROR "PRECAST_HOST_ARCH is \"${PRECAST_HOST_ARCH}\", and ${CMAKE_CXX_COMPILER} takes no "
                        "-march=${PRECAST_HOST_ARCH}: give native, x86-64-v3, or another that it knows.")
  endif()
  list(APPEND precast_flags -march=${PRECAST_HOST_ARCH})
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++'s plain -Wshadow takes the enumerators of an enum class for names in scope. psabi: a note on how gcc 4 passed
  # vectors.
  list(APPEND precast_flags -Wshadow=local -Wno-psabi)
  # A twentieth of a large unit's time went to g++'s collector of garbage, for less than half a GB.
  list(APPEND precast_flags --param=ggc-min-heapsize=500000)
endif()
if(PRECAST_WARNINGS_AS_ERRORS)
  list(APPEND precast_flags -Werror)
endif()
if(PRECAST_SANITIZE)
  # A null pointer that is read, and a read past an object, are ASan's to report: UBSan's own checks of each access were a
  # quarter of g++'s time to compile.
  set(precast_sanitizers -fsanitize=address,undefined -fno-sanitize=null,object-size -fno-sanitize-recover=all
                         -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # Where clang++ alone stops: a slice of a view of nothing is a null pointer with an offset, which nobody reads; and NCCL's
    # functions, found at run time, are called by types of our own.
    list(APPEND precast_sanitizers -fno-sanitize=pointer-overflow,function)
  endif()
endif()

# How much code is optimised that is no kernel.
set(precast_level_cold -Os)
set(passes)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Passes that take a quarter of the time of a unit of models, and make its code 0.5% smaller.
  set(passes tree-pta gcse code-hoisting schedule-insns2 tree-pre ipa-sra)
  list(TRANSFORM passes PREPEND -fno- OUTPUT_VARIABLE without_passes)
  list(APPEND precast_level_cold ${without_passes})
endif()
set(precast_level_cold "$<$<CONFIG:Release>:${precast_level_cold}>")
# Of single files of a target that is cold otherwise: as kernels are, with the passes that GCC needs to make vectors of loops.
list(TRANSFORM passes PREPEND -f OUTPUT_VARIABLE with_passes)
set(precast_level_kernel "$<$<CONFIG:Release>:-O3;${with_passes}>")
set(precast_level_test $<$<CONFIG:Release>:-Og>)
set(precast_level_host_test ${precast_level_test})
set(precast_level_light_test $<$<CONFIG:Release>:-O0>)
if(PRECAST_SANITIZE)  # kernels in the emulator take clang++ five times as long with -O1, and run twice as long without
  set(precast_level_cold -O0)
  set(precast_level_test -O0)
  set(precast_level_light_test -O0)
endif()

function(precast_compile target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  set(flags ${precast_flags} ${precast_sanitizers})
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${flags}>")
  target_link_options(${target} PRIVATE ${precast_sanitizers})
  foreach(kind IN LISTS ARGN)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${precast_level_${kind}}>")
  endforeach()
  if(PRECAST_CCACHE)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${PRECAST_CCACHE}")
  endif()
endfunction()

# precast_compile_together(target [files]): its files, 72 of them at a time or as many as are asked for, are one unit for the
# compiler. Headers, and inline functions of libraries that are headers alone (CLI11, nlohmann-json, Catch2), take it longer
# than a file does: of the code that eight files at a time made, five eighths were functions that another unit made too, and
# 72 at a time take it 0.62 of the time that 28 do. Where files stamp kernels, fewer at a time keep both cores busy.
# -DCMAKE_UNITY_BUILD=OFF compiles each by itself.
function(precast_compile_together target)
  set(files 72)
  if(ARGC GREATER 1)
    set(files ${ARGV1})
  endif()
  if(NOT DEFINED CMAKE_UNITY_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
    # Where two files have functions of one name, calls in one may choose the other's, and leave its own without any.
    if(PRECAST_BUILD_TESTS)
      target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-Werror=unused-function>")
    endif()
  endif()
endfunction()

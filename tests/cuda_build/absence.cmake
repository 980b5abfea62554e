# Whether PROGRAM, which holds one path of the dtype PRESENT, has kernels of it on every backend, none of another dtype,
# and none that the watch hook alone would call: from its symbols (NM), and, where CUDA is on and Python reads them, from
# the names of its cubins' kernels (PYTHON, RESOURCES), among which are those that multiply weights in the block format
# FORMATS, where it is given. Kernels are those that the folder DECLARATIONS declares in *_kernels.hpp and *_kernel.hpp.
# With LOOK_FOR, f16 or f32, only one of the latter two is looked for.
cmake_minimum_required(VERSION 3.25)

# check(WHAT LINES): fails where names of kernels tell of another dtype, or of a second kernel in f32.
function(check what lines)
  if(NOT lines MATCHES "precast::${PRESENT}[^a-z0-9_:]")
    message(FATAL_ERROR "${PRESENT} was asked for, and the program has no ${what} of it")
  endif()
  # A dtype is a name of precast in small letters which is no namespace; f32 is float.
  string(REGEX MATCHALL "precast::[a-z][a-z0-9_]*( const)?[,>&*)]" dtypes "${lines}")
  list(TRANSFORM dtypes REPLACE "^precast::([a-z0-9_]+).*$" "\\1")
  list(REMOVE_DUPLICATES dtypes)
  list(REMOVE_ITEM dtypes ${PRESENT} ${FORMATS})
  if(dtypes AND NOT LOOK_FOR STREQUAL "f32")
    message(FATAL_ERROR "${PROGRAM} has ${what} of dtypes other than ${PRESENT}: ${dtypes}")
  endif()
  # The second kernel is a row of f32 but for its storage; what reads a result or its scores is called by the hook alone.
  string(REGEX MATCH "[^\n]*(OpDtypes<[^<>]*, float, float, float, float, |${watch_kernels})[^\n]*" second "${lines}")
  if(second AND NOT LOOK_FOR STREQUAL "f16")
    message(FATAL_ERROR "${PROGRAM} has ${what} of a second kernel in f32, for the watch hook: ${second}")
  endif()
endfunction()

# lines_of(RESULT COMMAND...): what a command prints.
function(lines_of result)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE text RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "the names in ${PROGRAM} cannot be read")
  endif()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

set(declarations)
file(GLOB headers "${DECLARATIONS}/*_kernel.hpp" "${DECLARATIONS}/*_kernels.hpp")
foreach(header IN LISTS headers)
  file(READ "${header}" text)
  string(APPEND declarations "${text}")
endforeach()
string(REGEX MATCHALL "\n(void|f32|Extremes) [a-z_]+\\(" names "${declarations}")
list(TRANSFORM names REPLACE ".* ([a-z_]+).*" "\\1")
list(LENGTH names count)
if(count LESS 16)
  message(FATAL_ERROR "${DECLARATIONS} declares ${count} kernels only: ${names}")
endif()
list(JOIN names "|" names)

set(backends host)
if(CUDA)
  list(APPEND backends gpu)
endif()
foreach(backend IN LISTS backends)
  lines_of(symbols sh -c "\"${NM}\" -C \"${PROGRAM}\" | grep -E 'precast::${backend}::(${names})<'")
  set(watch_kernels "precast::${backend}::(largest_score|extremes_of)<")
  check("symbols" "${symbols}")
endforeach()
if(CUDA AND PYTHON MATCHES "python")
  lines_of(kernels "${PYTHON}" "${RESOURCES}" --names "${PROGRAM}")
  # Operands of attention, and results of norms: rows of the table are not in these kernels' names.
  set(watch_kernels "(flash_attention|attention_scores|attention_values)_kernel<float|norm_kernel<[^(\n]*, float>|largest_score|DeviceReduce")
  check("cubins" "${kernels}")
  if(FORMATS AND NOT kernels MATCHES "block_gemv<[^\n]*precast::${FORMATS},")
    message(FATAL_ERROR "${PROGRAM} has no products with weights in ${FORMATS} for the device")
  endif()
elseif(CUDA)
  message(STATUS "Python was not found: the program's cubins are not read")
endif()

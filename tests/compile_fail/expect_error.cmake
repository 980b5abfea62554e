# FILE must compile with COMPILER as it is (where CORRECT asks for it), and with -DMISTAKE must fail with the sentence of its
# first line, as the only failed assertion. tests/ is there for its emulator, which headers of CUDA kernels need under a host
# compiler.
cmake_minimum_required(VERSION 3.25)

file(READ "${FILE}" text)
if(NOT text MATCHES "^// expect: ([^\n]+)\n")
  message(FATAL_ERROR "${FILE} does not open with \"// expect: <sentence>\"")
endif()
set(sentence "${CMAKE_MATCH_1}")
set(command "${COMPILER}" -std=c++20 -fsyntax-only -I${INCLUDE} "-I${INCLUDE}/../tests" "-I${INCLUDE}/../reference_pipeline"
            "${FILE}")

if(CORRECT)
  execute_process(COMMAND ${command} RESULT_VARIABLE result ERROR_VARIABLE errors)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "the correct version does not compile:\n${errors}")
  endif()
endif()

execute_process(COMMAND ${command} -DMISTAKE RESULT_VARIABLE result ERROR_VARIABLE errors)
if(result EQUAL 0)
  message(FATAL_ERROR "the mistake compiles")
endif()
string(FIND "${errors}" "${sentence}" place)
if(place EQUAL -1)
  message(FATAL_ERROR "the compiler does not say: ${sentence}\nIt says:\n${errors}")
endif()
string(REGEX MATCHALL "error: (static assertion failed|static_assert failed)" assertions "${errors}")
list(LENGTH assertions count)
if(count GREATER 1)
  message(FATAL_ERROR "one mistake fails ${count} assertions:\n${errors}")
endif()

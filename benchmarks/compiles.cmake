# compiles.cmake: fails where a benchmark does not compile, without making its object: templates take minutes to become
# code, and seconds to be read.
#   cmake -DCOMMANDS=<build>/compile_commands.json -DSOURCE=<absolute path of a source> -P compiles.cmake
cmake_minimum_required(VERSION 3.25)

file(STRINGS "${COMMANDS}" lines REGEX "^ *\"command\": ")
foreach(line IN LISTS lines)
  string(FIND "${line}" " -c ${SOURCE}\"" at)
  if(at EQUAL -1)
    continue()
  endif()
  string(REGEX REPLACE ",$" "" line "${line}")
  string(JSON command GET "{${line}}" command)
  string(REGEX REPLACE " -o [^ ]+" " -fsyntax-only" command "${command}")
  separate_arguments(command UNIX_COMMAND "${command}")
  get_filename_component(build "${COMMANDS}" DIRECTORY)
  execute_process(COMMAND ${command} WORKING_DIRECTORY "${build}" RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${SOURCE} does not compile")
  endif()
  return()
endforeach()
message(FATAL_ERROR "${COMMANDS} has no command for ${SOURCE}")

# Writes HEADER with the commit that the folder SOURCE is at, "" where it is no repository: cmake -DSOURCE=… -DHEADER=… -P
# this. A header that would be the same is left as it is.
cmake_minimum_required(VERSION 3.25)
set(commit "")
find_program(git git)
if(git)
  execute_process(COMMAND "${git}" -C "${SOURCE}" rev-parse --show-toplevel
                  OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  file(REAL_PATH "${SOURCE}" source)
  if(top STREQUAL source)  # and not a repository around it
    execute_process(COMMAND "${git}" -C "${SOURCE}" rev-parse --short=10 HEAD
                    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(COMMAND "${git}" -C "${SOURCE}" diff --quiet HEAD -- RESULT_VARIABLE changed ERROR_QUIET)
    if(commit AND changed)
      string(APPEND commit ", and changes")
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT "${HEADER}" CONTENT "// Written by cmake/PrecastCommit.cmake.
#pragma once
#define PRECAST_COMMIT \"@commit@\"
" @ONLY)

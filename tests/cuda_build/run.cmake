# run(COMMAND...): sets `result` to its exit code and `said` to what it printed.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  set(result "${result}" PARENT_SCOPE)
  set(said "${output}${errors}" PARENT_SCOPE)
endfunction()

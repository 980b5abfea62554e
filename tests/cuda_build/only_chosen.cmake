# Whether OBJECT, of chosen_attention.cu, holds the one kernel that it asks for, and MOST_BYTES at most. PYTHON reads the
# cubins by RESOURCES.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND "${PYTHON}" "${RESOURCES}" --names "${OBJECT}" OUTPUT_VARIABLE kernels RESULT_VARIABLE failed
                OUTPUT_STRIP_TRAILING_WHITESPACE)
if(failed)
  message(FATAL_ERROR "the kernels of ${OBJECT} cannot be read")
endif()
if(NOT kernels MATCHES "^[^\n]*flash_attention_kernel<precast::bf16, false, 64, [^\n]*$")
  message(FATAL_ERROR "${OBJECT} was asked for one kernel of heads of 64, and has:\n${kernels}")
endif()
file(SIZE "${OBJECT}" bytes)
if(bytes GREATER MOST_BYTES)
  message(FATAL_ERROR "${OBJECT} has ${bytes} bytes, more than ${MOST_BYTES}")
endif()

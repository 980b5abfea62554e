# sides.cmake: fails where a header of precast/cuda asks whether it is compiled for a device or for the emulator, unless
# it is of device/ or runtime/, selects a tile, or stands between us and a library (CUB, cuBLASLt, cuDNN, NCCL), which the
# emulator has not. Kernels are the same text on both sides.
#   cmake -DCUDA=<include/precast/cuda> -P sides.cmake
cmake_minimum_required(VERSION 3.25)

file(GLOB_RECURSE headers RELATIVE "${CUDA}" "${CUDA}/*.hpp")
if(NOT headers)
  message(FATAL_ERROR "${CUDA} has no headers")
endif()
list(FILTER headers EXCLUDE REGEX "^(device/|runtime/|tile/selector[.]hpp)")
list(FILTER headers EXCLUDE REGEX "^(matmul/cublaslt|conv/cudnn|reduction/(extremes|exponent_histogram)|gather/sort_by_number|cluster/nccl_communicator)[.]hpp$")
foreach(header IN LISTS headers)
  file(STRINGS "${CUDA}/${header}" lines
       REGEX "PRECAST_ON_DEVICE|PRECAST_CUDA_IS_EMULATED|PRECAST_EMULATE_CUDA|__CUDA_ARCH__|__CUDACC__")
  if(lines)
    message(SEND_ERROR "${header} asks which side it is compiled for: ${lines}")
  endif()
endforeach()

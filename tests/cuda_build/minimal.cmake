# Builds the program for one preset alone, whose dtype is PRESENT, as quickly as it compiles (of block formats with one, for
# all are alike) by JOBS processes, with CUDA where CUDA is on, and looks in it for what was left out.
cmake_minimum_required(VERSION 3.25)

include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

set(cuda -DPRECAST_CUDA=off)
if(CUDA)
  # Without PTX, which nobody reads here, and which nvcc would compress beside the cubins.
  set(cuda -DPRECAST_CUDA=on "-DCMAKE_CUDA_COMPILER=${NVCC}" "-DCMAKE_CUDA_FLAGS_DEBUG=-O0 ${QUICKLY}"
           -DPRECAST_CUDA_ARCHITECTURES=80-real)
endif()
run("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BUILD}" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 ${cuda} -DPRECAST_PRESET=fast -DPRECAST_QUANT=q8_0
    -DPRECAST_MPI=off -DPRECAST_BUILD_TESTS=OFF -DPRECAST_BUILD_EXAMPLES=OFF -DPRECAST_BUILD_BENCHMARKS=OFF)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "does not configure:\n${said}")
endif()
run("${CMAKE_COMMAND}" --build "${BUILD}" --parallel ${JOBS} --target precast_program)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "does not build:\n${said}")
endif()

set(PROGRAM "${BUILD}/precast")
set(FORMATS q8_0)
include("${CMAKE_CURRENT_LIST_DIR}/absence.cmake")
run("${PROGRAM}" generate --prompt "a circle" --precision f16 --output "${BUILD}/picture.png")
if(result EQUAL 0 OR NOT said MATCHES "(^|\n)precast: error: [^\n]*-DPRECAST_PRESET=all[^\n]*\n$")
  message(FATAL_ERROR "the program does not name the option that would bring f16 back:\n${said}")
endif()
# What watches ops is refused before anything else is said.
set(watching "doctor" "generate --trace ${BUILD}/trace.json --output ${BUILD}/picture.png"
             "record --importance ${BUILD}/importance.gguf --output ${BUILD}/samples.safetensors"
             "compare --shard 1/1 --layers --output ${BUILD}/part.json")
foreach(words IN LISTS watching)
  separate_arguments(words UNIX_COMMAND "${words}")
  run("${PROGRAM}" ${words} --prompt "a circle")
  if(result EQUAL 0 OR NOT said MATCHES "^precast: error: [^\n]*-DPRECAST_WATCH=on[^\n]*\n$")
    message(FATAL_ERROR "the program does not name the option that would bring the watch hook back:\n${said}")
  endif()
endforeach()
run("${PROGRAM}" compare --prompt "a circle" --steps 1 --output "${BUILD}/sheet.png" --report "${BUILD}/page.html")
if(NOT result EQUAL 0 OR NOT said MATCHES "precast: warning: --report [^\n]*-DPRECAST_WATCH=on")
  message(FATAL_ERROR "a report without layers is not told of:\n${said}")
endif()
# Formats that were left out are named together, before anything is computed, and not planned unasked.
file(WRITE "${BUILD}/costs.json" [[{"layers": [{"name": "transformer_blocks.0", "parameters": 1000,
     "types": {"q8_0": {"cost": 3}, "q4_0": {"cost": 1}, "q4_k": {"cost": 2}}}]}]])
run("${PROGRAM}" plan --cost "${BUILD}/costs.json" --bits 9 --output "${BUILD}/plan.json")
if(NOT result EQUAL 0 OR NOT said MATCHES "left out: q4_0" OR NOT said MATCHES "left out: q4_k" OR NOT said MATCHES ": q8_0 x 1")
  message(FATAL_ERROR "a plan is not of the formats of the build:\n${said}")
endif()
file(WRITE "${BUILD}/plan.json" [[{"types": {"transformer_blocks.0": "q4_0", "transformer_blocks.1": "q4_k"}}]])
run("${PROGRAM}" generate --prompt "a circle" --plan "${BUILD}/plan.json" --output "${BUILD}/picture.png")
if(result EQUAL 0 OR NOT said MATCHES "^precast: error: [^\n]*-DPRECAST_QUANT=\"q4_0[;]q4_k\"[^\n]*\n$")
  message(FATAL_ERROR "the program does not name all formats that a plan lacks:\n${said}")
endif()
run("${PROGRAM}" train --data text.txt)
if(result EQUAL 0 OR NOT said MATCHES "(^|\n)precast: error: [^\n]*'train': [^\n]*-DPRECAST_PRESET=all[^\n]*\n$")
  message(FATAL_ERROR "the program does not name the option that would bring training back:\n${said}")
endif()
run("${PROGRAM}" --help)
if(NOT result EQUAL 0 OR said MATCHES "\n +(train|bench|experiment|doctor) ")
  message(FATAL_ERROR "the program's help offers what it does not hold:\n${said}")
endif()
run("${PROGRAM}" experiment accumulation)
if(result EQUAL 0 OR NOT said MATCHES "^precast: error: [^\n]*'experiment': [^\n]*-DPRECAST_PRECISIONS=all[^\n]*\n$")
  message(FATAL_ERROR "the program does not name the options that would bring experiments back:\n${said}")
endif()
run("${PROGRAM}" generate --help)
if(NOT result EQUAL 0 OR NOT said MATCHES "--preset fast[|]auto " OR NOT said MATCHES "--precision bf16 ")
  message(FATAL_ERROR "the program's help offers policies that it does not hold:\n${said}")
endif()
file(REMOVE_RECURSE "${BUILD}")

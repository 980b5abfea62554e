# The precision paths of a build, from PRECAST_PRECISIONS and PRECAST_PRESET, its block formats, from PRECAST_QUANT, and
# its policies of training, from PRECAST_TRAINING.
# Which there are, C++ says: path_list.cpp writes the lists of include/precast, and nothing here names one of them.
#   precast_paths             the names of the build's paths, in the order of precast::CompiledPaths
#   precast_precisions        the precisions that they store parameters in
#   precast_presets           the presets among them
#   precast_has_all_paths     whether nothing is left out
#   precast_product_operands  the dtypes that linear layers multiply in them, and f32 where they are watched
#   precast_decoded_dtypes    the dtypes that the host decodes blocks to in them
#   precast_has_watch         1 where ops can be watched, else 0 (PRECAST_WATCH)
#   precast_has_experiments   whether the program has its experiments, which compare all precisions
#   precast_training_policies the names of the policies that language models are trained under
#   precast_path_definitions  what include/precast/policy/paths.hpp and quant_formats.hpp read
# tests/policy checks that these paths and precast::CompiledPaths are one.

# Sets precast_all_precisions, precast_all_block_formats and precast_default_training_policies (names),
# precast_all_paths (path:precision), precast_all_product_operands and precast_all_decoded_dtypes (path:dtype),
# precast_all_presets (preset:path:precision) and precast_all_training_policies (policy:precision,precision).
# The program is compiled again where a header that it reads has changed.
function(_precast_ask_for_paths)
  set(source "${CMAKE_CURRENT_LIST_DIR}/path_list.cpp")
  file(GLOB headers "${PROJECT_SOURCE_DIR}/include/precast/dtype/*.hpp"
       "${PROJECT_SOURCE_DIR}/include/precast/dtype/blocks/*.hpp" "${PROJECT_SOURCE_DIR}/include/precast/policy/*.hpp"
       "${PROJECT_SOURCE_DIR}/include/precast/host/blocks/block_decoder.hpp")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}" ${headers})
  set(contents "${CMAKE_CXX_COMPILER} ${CMAKE_CXX_FLAGS}")
  foreach(file IN ITEMS "${source}" LISTS headers)
    file(SHA256 "${file}" hash)
    string(APPEND contents " ${hash}")
  endforeach()
  set(program "${PROJECT_BINARY_DIR}/path_list/path_list")
  if(NOT EXISTS "${program}" OR NOT "${contents}" STREQUAL "${PRECAST_PATH_LIST_OF}")
    # -w: a project that holds Precast may have -Werror for its own code among its flags.
    try_compile(compiled "${PROJECT_BINARY_DIR}/path_list" SOURCES "${source}" COMPILE_DEFINITIONS -w
                CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR}/include"
                CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
                OUTPUT_VARIABLE said COPY_FILE "${program}")
    if(NOT compiled)
      message(FATAL_ERROR "The list of precision paths does not compile; Precast needs a compiler of C++20:\n${said}")
    endif()
    set(PRECAST_PATH_LIST_OF "${contents}" CACHE INTERNAL "What path_list was compiled from")
  endif()
  foreach(list IN ITEMS precast_all_precisions precast_all_paths precast_all_product_operands precast_all_decoded_dtypes
                        precast_all_presets precast_all_block_formats precast_all_training_policies precast_default_training_policies)
    file(STRINGS "${program}" line LIMIT_COUNT 1 REGEX "^${list}=")  # g++ -g writes the text twice
    if(NOT line)
      message(FATAL_ERROR "${program}, which cmake/path_list.cpp was compiled to, does not hold the text ${list}: configure "
                          "without these flags: ${CMAKE_CXX_FLAGS} ${CMAKE_EXE_LINKER_FLAGS}")
    endif()
    string(REGEX REPLACE "^${list}=(.*[^ ]) *$" "\\1" line "${line}")
    string(REPLACE " " ";" line "${line}")
    set(${list} "${line}" PARENT_SCOPE)
  endforeach()
endfunction()

# "f32, bf16 and f16"
function(_precast_enumerated result word)
  list(JOIN ARGN ", " text)
  string(REGEX REPLACE ", ([^,]+)$" " ${word} \\1" text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# _precast_of_built_paths(RESULT ENTRIES PATH NAME): of entries such as preset:path:precision the parts at NAME whose parts at
# PATH are built.
function(_precast_of_built_paths result entries path_at name_at)
  set(names)
  foreach(entry IN LISTS ${entries})
    string(REPLACE ":" ";" entry "${entry}")
    list(GET entry ${path_at} path)
    if(path IN_LIST precast_paths)
      list(GET entry ${name_at} name)
      list(APPEND names ${name})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES names)
  set(${result} "${names}" PARENT_SCOPE)
endfunction()

_precast_ask_for_paths()
set(_preset_names ${precast_all_presets})
list(TRANSFORM _preset_names REPLACE ":.*" "")
_precast_enumerated(_precisions and ${precast_all_precisions})
_precast_enumerated(_presets or ${_preset_names})

set(PRECAST_PRECISIONS "all" CACHE STRING "Precisions to compile: all, or a list of ${_precisions}")
set(PRECAST_PRESET "all" CACHE STRING "all: every path of PRECAST_PRECISIONS; ${_presets}: that path alone")
set_property(CACHE PRECAST_PRESET PROPERTY STRINGS all ${_preset_names})

if(PRECAST_PRECISIONS STREQUAL "")
  _precast_enumerated(_any or ${precast_all_precisions})
  message(FATAL_ERROR "PRECAST_PRECISIONS is empty: name at least one of ${_any}, as in -DPRECAST_PRECISIONS=\"f32;bf16\".")
endif()
set(_wanted "${PRECAST_PRECISIONS}")
if(PRECAST_PRECISIONS STREQUAL "all")
  set(_wanted ${precast_all_precisions})
endif()
foreach(precision IN LISTS _wanted)
  if(NOT precision IN_LIST precast_all_precisions)
    message(FATAL_ERROR "PRECAST_PRECISIONS holds \"${precision}\": it takes all by itself, or a list of ${_precisions}, "
                        "as in -DPRECAST_PRECISIONS=\"f32;bf16\".")
  endif()
endforeach()
if(NOT PRECAST_PRESET STREQUAL "all" AND NOT PRECAST_PRESET IN_LIST _preset_names)
  message(FATAL_ERROR "PRECAST_PRESET is \"${PRECAST_PRESET}\": it takes all, ${_presets}.")
endif()

# Of a preset's build there is one path; of others, those of the precisions that are asked for.
set(_chosen ${precast_all_paths})
if(NOT PRECAST_PRESET STREQUAL "all")
  set(_chosen ${precast_all_presets})
  list(FILTER _chosen INCLUDE REGEX "^${PRECAST_PRESET}:")
  list(TRANSFORM _chosen REPLACE "^[^:]+:(.+)$" "\\1")
  string(REGEX REPLACE ".*:" "" _needed "${_chosen}")
  if(NOT _needed IN_LIST _wanted)
    message(FATAL_ERROR "PRECAST_PRESET=${PRECAST_PRESET} computes in ${_needed}, which PRECAST_PRECISIONS leaves out: "
                        "add it, or choose another preset.")
  endif()
endif()
set(precast_paths)
set(precast_precisions)
foreach(path IN LISTS _chosen)
  string(REPLACE ":" ";" path "${path}")
  list(GET path 1 precision)
  if(precision IN_LIST _wanted)
    list(GET path 0 name)
    list(APPEND precast_paths ${name})
    list(APPEND precast_precisions ${precision})
  endif()
endforeach()
list(REMOVE_DUPLICATES precast_precisions)
set(_left_out ${precast_all_precisions})
list(REMOVE_ITEM _left_out ${precast_precisions})
set(precast_has_experiments ON)
if(_left_out)
  set(precast_has_experiments OFF)
endif()
_precast_of_built_paths(precast_presets precast_all_presets 1 0)
_precast_of_built_paths(precast_product_operands precast_all_product_operands 0 1)
_precast_of_built_paths(precast_decoded_dtypes precast_all_decoded_dtypes 0 1)

list(LENGTH precast_paths _number_of_paths)
list(LENGTH precast_all_paths _number_of_all_paths)
set(precast_has_all_paths OFF)
if(_number_of_paths EQUAL _number_of_all_paths)
  set(precast_has_all_paths ON)
endif()

# Being watched takes each op a second kernel, in f32: a small build leaves it out, and so does a project that takes the
# headers alone, as one does that has them installed.
set(PRECAST_WATCH "auto" CACHE STRING
    "Whether ops can be watched (generate --trace): on, off, or auto (on for PRECAST_PRESET=all where there is a program or a test)")
set_property(CACHE PRECAST_WATCH PROPERTY STRINGS auto on off)
string(TOLOWER "${PRECAST_WATCH}" _watch)
if(NOT _watch MATCHES "^(auto|on|off)$")
  message(FATAL_ERROR "PRECAST_WATCH is \"${PRECAST_WATCH}\": it takes auto, on or off.")
endif()
set(precast_has_watch 0)
if(_watch STREQUAL "on" OR (_watch STREQUAL "auto" AND PRECAST_PRESET STREQUAL "all" AND
                            (PROJECT_IS_TOP_LEVEL OR PRECAST_BUILD_PIPELINE OR PRECAST_BUILD_TESTS)))
  set(precast_has_watch 1)
endif()

if(precast_has_watch)
  list(APPEND precast_product_operands f32)
endif()
list(REMOVE_DUPLICATES precast_product_operands)

# Block formats of files that weights stay in as they are multiplied.
set(PRECAST_QUANT "all" CACHE STRING "Block formats to compile: all, none, or a list such as q8_0;q4_k")
set(_formats "${PRECAST_QUANT}")
if(NOT _formats MATCHES "^(all|none)$")
  _precast_enumerated(_any and ${precast_all_block_formats})
  if(_formats STREQUAL "")
    message(FATAL_ERROR "PRECAST_QUANT is empty: it takes all, none, or a list of ${_any}.")
  endif()
  foreach(format IN LISTS _formats)
    if(NOT format IN_LIST precast_all_block_formats)
      message(FATAL_ERROR "PRECAST_QUANT holds \"${format}\": it takes all or none by itself, or a list of ${_any}, "
                          "as in -DPRECAST_QUANT=\"q8_0;q4_k\".")
    endif()
  endforeach()
endif()
list(JOIN _formats "," _formats)

# A build of one preset trains nothing; another trains under what its precisions allow.
set(PRECAST_TRAINING "default" CACHE STRING
    "Policies of training to compile: default, all, none, or a list such as f32;amp-bf16+flash")
set(_training "${PRECAST_TRAINING}")
set(_asked)
set(_known ${precast_all_training_policies})
list(TRANSFORM _known REPLACE ":.*" "")
list(JOIN precast_default_training_policies " " _any)
if(_training STREQUAL "")
  message(FATAL_ERROR "PRECAST_TRAINING is empty: it takes default, all, none, or a list of policies such as ${_any}.")
elseif(_training STREQUAL "default")
  set(_training ${precast_default_training_policies})
elseif(_training STREQUAL "all")
  if(NOT PRECAST_PRESET STREQUAL "all")
    message(FATAL_ERROR "PRECAST_TRAINING is all, and a build of the preset ${PRECAST_PRESET} alone trains nothing: set "
                        "PRECAST_PRESET=all, or leave PRECAST_TRAINING out.")
  endif()
  set(_training ${_known})
elseif(_training STREQUAL "none")
  set(_training)
else()
  set(_asked ${_training})  # by name: each is built, or is an error
endif()
foreach(policy IN LISTS _training)
  if(NOT policy IN_LIST _known)
    message(FATAL_ERROR "PRECAST_TRAINING holds \"${policy}\": it takes default, all or none by itself, or a list of policies such "
                        "as ${_any}; all compiles every one.")
  endif()
endforeach()
set(precast_training_policies)
foreach(entry IN LISTS precast_all_training_policies)
  string(REGEX REPLACE ":.*" "" name "${entry}")
  string(REGEX REPLACE ".*:" "" needed "${entry}")
  string(REPLACE "," ";" needed "${needed}")
  list(REMOVE_ITEM needed ${precast_precisions})
  if(name IN_LIST _training AND PRECAST_PRESET STREQUAL "all" AND NOT needed)
    list(APPEND precast_training_policies "${name}")
  elseif(name IN_LIST _asked AND NOT PRECAST_PRESET STREQUAL "all")
    message(FATAL_ERROR "PRECAST_TRAINING holds \"${name}\", and a build of the preset ${PRECAST_PRESET} alone trains nothing: "
                        "set PRECAST_PRESET=all, or leave PRECAST_TRAINING out.")
  elseif(name IN_LIST _asked)
    message(FATAL_ERROR "PRECAST_TRAINING holds \"${name}\", which needs ${needed}: add it to PRECAST_PRECISIONS, or leave "
                        "${name} out.")
  endif()
endforeach()

list(JOIN _wanted "," _precisions)
set(precast_path_definitions PRECAST_PRESET_NAME="${PRECAST_PRESET}" PRECAST_PRECISION_NAMES="${_precisions}"
                             PRECAST_HAS_WATCH=${precast_has_watch})
if(NOT _formats STREQUAL "all")
  list(APPEND precast_path_definitions PRECAST_QUANT_NAMES="${_formats}")
endif()

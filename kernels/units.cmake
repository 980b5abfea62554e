# What is compiled for the compiled-in paths, in C++ that knows which instances they need (stamp.hpp): op kernels, a
# unit for each op family and storage precision, and models, a unit for each path.

# A family is a source of this folder. Those of the second and third list are one unit for all precisions.
set(kernel_families matmul matmul_of_f32 conv plain_attention flash_attention norm pointwise)
set(kernel_families_in_one_unit reduction sampler)
# Those of the host alone: what reads scalars of files, and what decodes blocks, for each dtype that it multiplies.
set(host_kernel_families scalar_readers block_decoders_f32)
if(bf16 IN_LIST precast_precisions)
  list(APPEND host_kernel_families block_decoders_bf16)
endif()

# Those of the device alone: what multiplies weights in blocks of files, for each dtype that it multiplies; f32 for those
# who watch ops, too.
set(cuda_kernel_families block_products_f32)
foreach(precision IN ITEMS bf16 f16)
  if(precision IN_LIST precast_precisions)
    list(APPEND cuda_kernel_families block_products_${precision})
  endif()
endforeach()

# precast_generate_kernels(EXTENSION) writes a unit of each family and precision, FAMILY_PRECISION.EXTENSION, into the
# current binary directory. Sets kernel_sources.
function(precast_generate_kernels extension)
  set(sources)
  foreach(FAMILY IN LISTS kernel_families)
    foreach(STORAGE IN LISTS precast_precisions)
      set(unit "${CMAKE_CURRENT_BINARY_DIR}/${FAMILY}_${STORAGE}.${extension}")
      configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/unit.cpp.in" "${unit}" @ONLY)
      list(APPEND sources "${unit}")
    endforeach()
  endforeach()
  set(in_one_unit ${kernel_families_in_one_unit})
  if(extension STREQUAL "cpp")
    list(APPEND in_one_unit ${host_kernel_families})
  else()
    list(APPEND in_one_unit ${cuda_kernel_families})
  endif()
  foreach(FAMILY IN LISTS in_one_unit)
    set(unit "${CMAKE_CURRENT_BINARY_DIR}/${FAMILY}.${extension}")
    file(CONFIGURE OUTPUT "${unit}" CONTENT "#include <${FAMILY}.cpp>\n")
    list(APPEND sources "${unit}")
  endforeach()
  set(kernel_sources "${sources}" PARENT_SCOPE)
endfunction()

# precast_generate_models(PATHS) writes the models of each path, models_PATH.cpp, into the current binary directory.
# Sets model_sources.
function(precast_generate_models)
  set(sources)
  foreach(PATH_NAME IN LISTS ARGN)
    configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/models.cpp.in" "models_${PATH_NAME}.cpp" @ONLY)
    list(APPEND sources "${CMAKE_CURRENT_BINARY_DIR}/models_${PATH_NAME}.cpp")
  endforeach()
  # Models call kernels, and are not loops themselves: small code is as fast, and takes the compiler two thirds.
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-Os>")
  set(model_sources "${sources}" PARENT_SCOPE)
endfunction()

# precast_generate_language_models(EXTENSION POLICIES) writes a unit of each of these policies of training,
# language_model_POLICY.EXTENSION, and their list, training_policies.cpp, into the current binary directory. Sets
# language_model_sources, the units, and language_model_list.
function(precast_generate_language_models extension)
  set(sources)
  set(TRAINING_POLICIES "")
  foreach(POLICY IN LISTS ARGN)
    string(REGEX REPLACE "[^a-z0-9]" "_" unit "language_model_${POLICY}")
    configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/language_model.cpp.in" "${unit}.${extension}" @ONLY)
    list(APPEND sources "${CMAKE_CURRENT_BINARY_DIR}/${unit}.${extension}")
    string(APPEND TRAINING_POLICIES "\n      compiled_training_policy<\"${POLICY}\">(),")
  endforeach()
  configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/training_policies.cpp.in" training_policies.cpp @ONLY)
  set(language_model_sources "${sources}" PARENT_SCOPE)
  set(language_model_list "${CMAKE_CURRENT_BINARY_DIR}/training_policies.cpp" PARENT_SCOPE)
endfunction()

# Removes what an earlier configuration generated: all sources in the current binary directory but these.
function(precast_keep_only_generated)
  file(GLOB present "${CMAKE_CURRENT_BINARY_DIR}/*.cpp" "${CMAKE_CURRENT_BINARY_DIR}/*.cu")
  list(REMOVE_ITEM present ${ARGN})
  if(present)
    file(REMOVE ${present})
  endif()
endfunction()

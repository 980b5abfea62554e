# What is compiled for the compiled-in paths, in C++ that knows which instances they need (stamp.hpp): op kernels, a
# unit for some op families and each precision, and models, a unit for some paths each.

# A family is a source of this folder. Those that read the same headers, which take nvcc as long as the kernels of one, are
# a unit together. Those of the second and third list are one for all precisions.
set(kernel_units products attention rows)
set(families_of_products matmul conv)
set(families_of_attention plain_attention flash_attention)
set(families_of_rows norm pointwise)
foreach(name IN LISTS kernel_units)
  set(precisions_of_${name} ${precast_precisions})
endforeach()
set(kernel_families_in_one_unit reduction sampler)
# The kernels that language models in training call.
if(precast_training_policies)
  list(APPEND families_of_products trained_products)
  list(APPEND families_of_attention trained_attention)
  list(APPEND families_of_rows trained_rows)
  list(APPEND kernel_families_in_one_unit trained_parameters)
endif()
# Those of the host alone: what reads scalars of files, and what decodes blocks, a unit for each dtype that it decodes to.
set(host_kernel_families scalar_readers)
set(host_kernel_units block_decoders)
set(families_of_block_decoders block_decoders)
set(precisions_of_block_decoders ${precast_decoded_dtypes})

# That of the device alone: what multiplies weights in blocks of files, for each dtype that linear layers multiply.
set(cuda_kernel_units block_products)
set(families_of_block_products block_products)
set(precisions_of_block_products ${precast_product_operands})

# precast_generate_unit(NAME EXTENSION) writes one of the units above, NAME_PRECISION.EXTENSION for each of its precisions, into
# the current binary directory. Adds them to `sources`.
function(precast_generate_unit name extension)
  list(TRANSFORM families_of_${name} REPLACE "(.+)" "#include <\\1.cpp>" OUTPUT_VARIABLE FAMILIES)
  list(JOIN FAMILIES "\n" FAMILIES)
  foreach(PRECISION IN LISTS precisions_of_${name})
    set(unit "${CMAKE_CURRENT_BINARY_DIR}/${name}_${PRECISION}.${extension}")
    configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/unit.cpp.in" "${unit}" @ONLY)
    list(APPEND sources "${unit}")
  endforeach()
  set(sources ${sources} PARENT_SCOPE)
endfunction()

# precast_generate_kernels(EXTENSION) writes the units of each precision, UNIT_PRECISION.EXTENSION, into the current binary
# directory. Sets kernel_sources.
function(precast_generate_kernels extension)
  set(sources)
  set(TRAINED_POLICIES ${precast_training_policies})
  list(TRANSFORM TRAINED_POLICIES REPLACE "(.+)" "\n    boost::hana::type<training_policy_named<\"\\1\">>")
  list(JOIN TRAINED_POLICIES "," TRAINED_POLICIES)
  configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/trained_policies.hpp.in"
                 "${CMAKE_CURRENT_BINARY_DIR}/generated/trained_policies.hpp" @ONLY)
  set(units ${kernel_units})
  if(extension STREQUAL "cu")
    list(APPEND units ${cuda_kernel_units})
  else()
    list(APPEND units ${host_kernel_units})
  endif()
  foreach(name IN LISTS units)
    precast_generate_unit(${name} ${extension})
  endforeach()
  set(in_one_unit ${kernel_families_in_one_unit})
  if(extension STREQUAL "cpp")
    list(APPEND in_one_unit ${host_kernel_families})
  endif()
  foreach(FAMILY IN LISTS in_one_unit)
    set(unit "${CMAKE_CURRENT_BINARY_DIR}/${FAMILY}.${extension}")
    file(CONFIGURE OUTPUT "${unit}" CONTENT "#include <${FAMILY}.cpp>\n")
    list(APPEND sources "${unit}")
  endforeach()
  set(kernel_sources "${sources}" PARENT_SCOPE)
endfunction()

# precast_generate_models(PATHS...) writes the models of the paths, models_N.cpp, into the current binary directory. Sets
# model_sources.
function(precast_generate_models)
  set(paths_per_unit 7)  # of a unit of one, reading headers takes the compiler half the time
  set(sources)
  set(rest ${ARGN})
  while(rest)
    list(SUBLIST rest 0 ${paths_per_unit} paths)
    list(REMOVE_ITEM rest ${paths})
    set(DECLARATIONS "")
    set(MODELS "")
    set(function "template std::span<const FamilyModels> compiled_models")
    foreach(path IN LISTS paths)
      string(APPEND DECLARATIONS "extern ${function}<WithoutUpcastConv<policy_named<\"${path}\">>>();\n")
      string(APPEND MODELS "${function}<policy_named<\"${path}\">>();\n")
    endforeach()
    list(LENGTH sources before)
    set(unit "${CMAKE_CURRENT_BINARY_DIR}/models_${before}.cpp")
    configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/models.cpp.in" "${unit}" @ONLY)
    list(APPEND sources "${unit}")
  endwhile()
  # Models call kernels, and are not loops themselves: small code is as fast, and takes the compiler half the time.
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "${precast_level_cold}")
  set(model_sources "${sources}" PARENT_SCOPE)
endfunction()

# precast_generate_language_models(POLICIES...) writes the models of these policies of training, language_model_N.cpp, and
# their list, training_policies.cpp, into the current binary directory. Sets language_model_sources.
function(precast_generate_language_models)
  set(training_policies_per_unit 5)
  set(sources)
  set(TRAINING_POLICIES "")
  set(rest ${ARGN})
  while(rest)
    list(SUBLIST rest 0 ${training_policies_per_unit} policies)
    list(REMOVE_ITEM rest ${policies})
    set(MODELS "")
    foreach(policy IN LISTS policies)
      string(APPEND MODELS "template std::unique_ptr<TrainedModel> make_trained_model<training_policy_named<\"${policy}\">>(\n"
                           "    const LanguageModelConfig&, const ValuesOf&);\n")
      string(APPEND TRAINING_POLICIES "\n      compiled_training_policy<\"${policy}\">(),")
    endforeach()
    list(LENGTH sources before)
    set(unit "${CMAKE_CURRENT_BINARY_DIR}/language_model_${before}.cpp")
    configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/language_model.cpp.in" "${unit}" @ONLY)
    list(APPEND sources "${unit}")
  endwhile()
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "${precast_level_cold}")
  configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/training_policies.cpp.in" training_policies.cpp @ONLY)
  set(language_model_sources ${sources} "${CMAKE_CURRENT_BINARY_DIR}/training_policies.cpp" PARENT_SCOPE)
endfunction()

# Removes what an earlier configuration generated: all sources in the current binary directory but these.
function(precast_keep_only_generated)
  file(GLOB present "${CMAKE_CURRENT_BINARY_DIR}/*.cpp" "${CMAKE_CURRENT_BINARY_DIR}/*.cu")
  list(REMOVE_ITEM present ${ARGN})
  if(present)
    file(REMOVE ${present})
  endif()
endfunction()

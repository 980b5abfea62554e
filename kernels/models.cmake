# precast_generate_models(DECLARATIONS PATHS) writes the models of each path, models_PATH.cpp, into the current binary
# directory; they begin with DECLARATIONS. Sets model_sources.
function(precast_generate_models declarations paths)
  set(KERNEL_DECLARATIONS "${declarations}")
  set(sources)
  foreach(PATH_NAME IN LISTS paths)
    configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/models.cpp.in" "models_${PATH_NAME}.cpp" @ONLY)
    list(APPEND sources "${CMAKE_CURRENT_BINARY_DIR}/models_${PATH_NAME}.cpp")
  endforeach()
  set(model_sources "${sources}" PARENT_SCOPE)
endfunction()

# Removes what an earlier configuration generated: all sources in the current binary directory but these.
function(precast_keep_only_generated)
  file(GLOB present "${CMAKE_CURRENT_BINARY_DIR}/*.cpp" "${CMAKE_CURRENT_BINARY_DIR}/*.cu")
  list(REMOVE_ITEM present ${ARGN})
  if(present)
    file(REMOVE ${present})
  endif()
endfunction()

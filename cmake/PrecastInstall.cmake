# What `cmake --install` puts where. The headers and the files that find them are one component, the program and its
# model another: a packager of the library alone says --component precast_headers. Two more are installed only where they
# are named: precast_pipeline, what programs like ours are made from (target precast::pipeline), and precast_emulator,
# which runs a project's own CUDA kernels on the CPU in its tests (target precast::emulator).
include(CMakePackageConfigHelpers)

# A header-only library has no architecture: its files live under share/.
set(_package_dir "${CMAKE_INSTALL_DATADIR}/cmake/precast")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/precast" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        COMPONENT precast_headers)
install(TARGETS precast EXPORT precast_targets)
install(EXPORT precast_targets NAMESPACE precast:: FILE precast-targets.cmake DESTINATION "${_package_dir}"
        COMPONENT precast_headers)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/precast-config.cmake.in"
                              "${PROJECT_BINARY_DIR}/precast-config.cmake" INSTALL_DESTINATION "${_package_dir}"
                              PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_DATADIR)
configure_file("${PROJECT_SOURCE_DIR}/cmake/precast-config-version.cmake.in"
               "${PROJECT_BINARY_DIR}/precast-config-version.cmake" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/precast-config.cmake" "${PROJECT_BINARY_DIR}/precast-config-version.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/PrecastDependencies.cmake"
        DESTINATION "${_package_dir}" COMPONENT precast_headers)

# Libraries outside the compiler's own folders are named with theirs.
set(PRECAST_PC_INCLUDES)
set(_named ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
foreach(_key ONEDNN HANA JSON)
  if(PRECAST_${_key}_INCLUDE_DIR AND NOT PRECAST_${_key}_INCLUDE_DIR IN_LIST _named)
    list(APPEND _named "${PRECAST_${_key}_INCLUDE_DIR}")
    string(REPLACE " " "\\ " _folder "${PRECAST_${_key}_INCLUDE_DIR}")
    string(APPEND PRECAST_PC_INCLUDES " -I${_folder}")
  endif()
endforeach()
set(PRECAST_PC_LIBRARIES)
if(PRECAST_ONEDNN_LIBRARY)
  cmake_path(GET PRECAST_ONEDNN_LIBRARY PARENT_PATH _folder)
  if(NOT _folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    string(REPLACE " " "\\ " _folder "${_folder}")
    string(APPEND PRECAST_PC_LIBRARIES "-L${_folder} ")
  endif()
  string(APPEND PRECAST_PC_LIBRARIES "-ldnnl -lgomp ")
endif()
file(RELATIVE_PATH PRECAST_PC_INCLUDEDIR "${CMAKE_INSTALL_FULL_DATADIR}/pkgconfig" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/precast.pc.in" "${PROJECT_BINARY_DIR}/precast.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/precast.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig"
        COMPONENT precast_headers)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT precast_headers)

if(TARGET precast_program)
  install(TARGETS precast_program RUNTIME COMPONENT precast_program)
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT precast_program)
  if(PRECAST_MPI_ENABLED)
    install(TARGETS precast_mpi LIBRARY COMPONENT precast_program DESTINATION "${CMAKE_INSTALL_LIBDIR}/precast")
  endif()
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/reference_pipeline/shapes/model/"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/precast/shapes" COMPONENT precast_program OPTIONAL)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/reference_pipeline/shapes/model_sd/"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/precast/shapes-sd" COMPONENT precast_program OPTIONAL)
  # The committed ones, without the commands that this build lacks (optional_commands in cli/app.cpp).
  set(_lacking)
  if(NOT precast_training_policies)
    list(APPEND _lacking train bench)
  endif()
  if(NOT precast_has_experiments)
    list(APPEND _lacking experiment)
  endif()
  if(NOT precast_has_watch)
    list(APPEND _lacking doctor)
  endif()
  set(_completions "${PROJECT_BINARY_DIR}/completions")
  foreach(_shell IN ITEMS precast.bash _precast precast.fish)
    set(_committed "${PROJECT_SOURCE_DIR}/reference_pipeline/cli/completions/${_shell}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${_committed}")
    file(READ "${_committed}" _script)
    foreach(_command IN LISTS _lacking)
      string(REGEX REPLACE "(generate compare [^\n]*)${_command} " "\\1" _script "${_script}")  # lists of all commands
      string(REGEX REPLACE "\n    '${_command}:[^\n]*" "" _script "${_script}")  # zsh's list
      string(REGEX REPLACE "\n[^\n]* __fish_use_subcommand -a ${_command} [^\n]*" "" _script "${_script}")
    endforeach()
    file(WRITE "${_completions}/${_shell}" "${_script}")
  endforeach()
  install(FILES "${_completions}/precast.bash" RENAME precast COMPONENT precast_program
          DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  install(FILES "${_completions}/_precast" COMPONENT precast_program
          DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
  install(FILES "${_completions}/precast.fish" COMPONENT precast_program
          DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
endif()

# precast_install_library(NAME TARGETS): the targets as precast::NAME, in a component that is installed only where it is named.
function(precast_install_library name)
  set(_place "${CMAKE_INSTALL_LIBDIR}/cmake/precast")
  list(GET ARGN 0 main)
  set_target_properties(${main} PROPERTIES EXPORT_NAME ${name})
  # Objects of other targets are in the first one's archive.
  install(TARGETS ${ARGN} EXPORT precast_${name}_targets
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT precast_${name} EXCLUDE_FROM_ALL)
  install(EXPORT precast_${name}_targets NAMESPACE precast:: FILE precast-${name}-targets.cmake DESTINATION "${_place}"
          COMPONENT precast_${name} EXCLUDE_FROM_ALL)
endfunction()

if(TARGET precast_pipeline)
  set(_pipeline precast_pipeline precast_kernels)
  if(PRECAST_CUDA_ENABLED)
    list(APPEND _pipeline precast_cuda_kernels precast_cuda_models)
  endif()
  precast_install_library(pipeline ${_pipeline})
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/reference_pipeline/"
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/precast-pipeline" COMPONENT precast_pipeline EXCLUDE_FROM_ALL
          FILES_MATCHING PATTERN "*.hpp" PATTERN "shapes" EXCLUDE)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/reference_pipeline/shapes/model/"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/precast/shapes" COMPONENT precast_pipeline EXCLUDE_FROM_ALL)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/reference_pipeline/shapes/model_sd/"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/precast/shapes-sd" COMPONENT precast_pipeline EXCLUDE_FROM_ALL)
  # Whoever compiles models beside ours has our flags and definitions: a linker keeps one of two copies of a function, and
  # the paths that there are must be the same everywhere.
  set(_flags -ffp-contract=off)
  if(PRECAST_HOST_ARCH)
    list(APPEND _flags -march=${PRECAST_HOST_ARCH})
  endif()
  foreach(flag IN LISTS _flags)
    target_compile_options(precast_pipeline INTERFACE $<INSTALL_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:${flag}>>)
  endforeach()
  foreach(definition IN LISTS precast_path_definitions)
    target_compile_definitions(precast_pipeline INTERFACE $<INSTALL_INTERFACE:${definition}>)
  endforeach()
endif()

if(TARGET precast_simt)
  precast_install_library(emulator precast_simt)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/tests/simt"
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/precast-emulator" COMPONENT precast_emulator EXCLUDE_FROM_ALL
          FILES_MATCHING PATTERN "*.hpp" PATTERN "races" EXCLUDE PATTERN "cutlass" EXCLUDE)
  # local-exec: tests/simt/CMakeLists.txt says why.
  target_compile_definitions(precast_simt INTERFACE $<INSTALL_INTERFACE:PRECAST_EMULATE_CUDA=1>)
  target_compile_options(precast_simt INTERFACE $<INSTALL_INTERFACE:-ftls-model=local-exec>)
endif()

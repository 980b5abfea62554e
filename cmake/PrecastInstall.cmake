# What `cmake --install` puts where. The headers and the files that find them are one component, the program and its
# model another: a packager of the library alone says --component precast_headers.
include(CMakePackageConfigHelpers)

# A header-only library has no architecture: its files live under share/.
set(_package_dir "${CMAKE_INSTALL_DATADIR}/cmake/precast")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/precast" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        COMPONENT precast_headers)
install(TARGETS precast EXPORT precast_targets)
install(EXPORT precast_targets NAMESPACE precast:: FILE precast-targets.cmake DESTINATION "${_package_dir}"
        COMPONENT precast_headers)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/precast-config.cmake.in"
                              "${PROJECT_BINARY_DIR}/precast-config.cmake" INSTALL_DESTINATION "${_package_dir}")
# Before 1.0, a minor version may change what a header promises.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/precast-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/precast-config.cmake" "${PROJECT_BINARY_DIR}/precast-config-version.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/PrecastDependencies.cmake"
        DESTINATION "${_package_dir}" COMPONENT precast_headers)

set(PRECAST_PC_LIBRARIES)
if(PRECAST_ONEDNN_LIBRARY)
  set(PRECAST_PC_LIBRARIES "-ldnnl -lgomp ")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/precast.pc.in" "${PROJECT_BINARY_DIR}/precast.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/precast.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig"
        COMPONENT precast_headers)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT precast_headers)

if(TARGET precast_program)
  install(TARGETS precast_program RUNTIME COMPONENT precast_program)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/reference_pipeline/shapes/model/"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/precast/shapes" COMPONENT precast_program OPTIONAL)
  set(_completions "${PROJECT_SOURCE_DIR}/reference_pipeline/cli/completions")
  install(FILES "${_completions}/precast.bash" RENAME precast COMPONENT precast_program
          DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  install(FILES "${_completions}/_precast" COMPONENT precast_program
          DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
  install(FILES "${_completions}/precast.fish" COMPONENT precast_program
          DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
endif()

# What the headers stand on, for the build tree and for find_package(precast) alike. Each library serves some
# headers only (docs/dependencies.md), so one that is missing is told, and stops nobody who does not use them.
find_package(Threads REQUIRED)

# Debian's own dnnl-config.cmake insists on OpenCL's headers, which Precast does not need: look for the library itself.
find_path(PRECAST_ONEDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(PRECAST_ONEDNN_LIBRARY dnnl)
find_path(PRECAST_HANA_INCLUDE_DIR boost/hana.hpp)
find_path(PRECAST_JSON_INCLUDE_DIR nlohmann/json.hpp)
mark_as_advanced(PRECAST_ONEDNN_INCLUDE_DIR PRECAST_ONEDNN_LIBRARY PRECAST_HANA_INCLUDE_DIR PRECAST_JSON_INCLUDE_DIR)

foreach(_row "ONEDNN|oneDNN|libdnnl-dev|the ops of precast/host and precast/ops"
             "HANA|Boost.Hana|libboost1.81-dev|precast/policy/visit.hpp"
             "JSON|nlohmann-json|nlohmann-json3-dev|precast/io")
  string(REPLACE "|" ";" _row "${_row}")
  list(GET _row 0 _key)
  list(GET _row 1 _library)
  list(GET _row 2 _package)
  list(GET _row 3 _users)
  if(NOT PRECAST_${_key}_INCLUDE_DIR)
    message(STATUS "Precast: ${_library} was not found; ${_users} will not compile (on Debian: apt-get install ${_package})")
  endif()
endforeach()

# Links them to an interface target, in the build tree's CMakeLists.txt and in the installed package.
function(precast_link_dependencies target)
  target_link_libraries(${target} INTERFACE Threads::Threads)
  foreach(key ONEDNN HANA JSON)
    # A system folder that is named again changes the order in which the compiler's own headers are found.
    if(PRECAST_${key}_INCLUDE_DIR AND NOT PRECAST_${key}_INCLUDE_DIR IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
      target_include_directories(${target} SYSTEM INTERFACE $<BUILD_INTERFACE:${PRECAST_${key}_INCLUDE_DIR}>)
    endif()
  endforeach()
  if(PRECAST_ONEDNN_INCLUDE_DIR AND PRECAST_ONEDNN_LIBRARY)
    # gomp is the thread pool inside Debian's oneDNN; Precast tells it how many threads to use.
    target_link_libraries(${target} INTERFACE $<BUILD_INTERFACE:${PRECAST_ONEDNN_LIBRARY}> $<BUILD_INTERFACE:gomp>)
  endif()
endfunction()

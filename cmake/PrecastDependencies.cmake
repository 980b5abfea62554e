# What the headers stand on, for the build tree and for find_package(precast) alike. Each library serves some
# headers only (docs/dependencies.md), so one that is missing is told, and stops nobody who does not use them.
# A project of CUDA's language alone has none that CMake looks for threads with; there glibc's own name will do.
get_property(_precast_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
set(PRECAST_THREADS_LIBRARY pthread)
if("C" IN_LIST _precast_languages OR "CXX" IN_LIST _precast_languages)
  find_package(Threads REQUIRED)
  set(PRECAST_THREADS_LIBRARY Threads::Threads)
endif()
unset(_precast_languages)

# Debian's own dnnl-config.cmake insists on OpenCL's headers, which Precast does not need: look for the library itself.
find_path(PRECAST_ONEDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(PRECAST_ONEDNN_LIBRARY dnnl)
find_path(PRECAST_HANA_INCLUDE_DIR boost/hana.hpp)
find_path(PRECAST_JSON_INCLUDE_DIR nlohmann/json.hpp)
mark_as_advanced(PRECAST_ONEDNN_INCLUDE_DIR PRECAST_ONEDNN_LIBRARY PRECAST_HANA_INCLUDE_DIR PRECAST_JSON_INCLUDE_DIR)

# A function: find_package(precast) leaves no variable of these names in a project.
function(precast_tell_missing_dependencies)
  foreach(row "ONEDNN|oneDNN|libdnnl-dev|the ops of precast/host and precast/ops"
              "HANA|Boost.Hana|libboost1.81-dev|precast/policy/visit.hpp"
              "JSON|nlohmann-json|nlohmann-json3-dev|precast/io")
    string(REPLACE "|" ";" row "${row}")
    list(GET row 0 key)
    list(GET row 1 library)
    list(GET row 2 package)
    list(GET row 3 users)
    if(NOT PRECAST_${key}_INCLUDE_DIR)
      message(STATUS "Precast: ${library} was not found; ${users} will not compile (on Debian: apt-get install ${package})")
    endif()
  endforeach()
endfunction()
if(NOT precast_FIND_QUIETLY)
  precast_tell_missing_dependencies()
endif()

# Links them to an interface target, in the build tree's CMakeLists.txt and in the installed package.
function(precast_link_dependencies target)
  target_link_libraries(${target} INTERFACE $<BUILD_INTERFACE:${PRECAST_THREADS_LIBRARY}>)
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

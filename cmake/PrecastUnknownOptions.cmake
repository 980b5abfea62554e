# Refuses PRECAST_ variables that nothing has declared: CMake takes a misspelt option and says nothing that stops. Included
# behind all that declares one, and only where Precast is the top project: others may have names of their own.

# What tests declare, which may be switched off, and places of what others have installed.
set(_of_tests PRECAST_CUTLASS PRECAST_GPU_TESTS PRECAST_OLDER_NVCC)
set(_places "_(DIR|LIBRARY)$|^PRECAST_(CCACHE|CLANGXX|GXX|NVCC|PKG_CONFIG|PYTHON3)$")

get_cmake_property(_names CACHE_VARIABLES)
list(FILTER _names INCLUDE REGEX "^PRECAST_")
list(REMOVE_ITEM _names ${_of_tests})
set(_options ${_of_tests})
set(_unknown)
foreach(_name IN LISTS _names)
  get_property(_type CACHE ${_name} PROPERTY TYPE)
  get_property(_help CACHE ${_name} PROPERTY HELPSTRING)
  if(_help MATCHES "^No help" AND NOT _name MATCHES "${_places}")  # which is CMake's word for what a command line sets
    list(APPEND _unknown ${_name})
    unset(${_name} CACHE)  # or it would stay, and stop the next run
  elseif(_type MATCHES "^(STRING|BOOL)$")
    list(APPEND _options ${_name})
  endif()
endforeach()
if(_unknown)
  list(SORT _options)
  list(JOIN _unknown ", " _unknown)
  list(JOIN _options ", " _options)
  message(FATAL_ERROR "${_unknown}: Precast has no such option. It has ${_options} (README.md says what they do).")
endif()

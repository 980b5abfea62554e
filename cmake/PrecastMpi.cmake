# PRECAST_MPI: whether the program may be one of several ranks. Sets PRECAST_MPI_ENABLED. Only precast_mpi.so, which the
# program loads where it was started as a rank, is linked with MPI.
set(PRECAST_MPI "auto" CACHE STRING "Build what lets ranks of MPI train together: on, off, or auto (where MPI is found)")
set_property(CACHE PRECAST_MPI PROPERTY STRINGS auto on off)

set(PRECAST_MPI_ENABLED OFF)
string(TOLOWER "${PRECAST_MPI}" _mpi)
if(NOT _mpi MATCHES "^(auto|on|off)$")
  message(FATAL_ERROR "PRECAST_MPI is \"${PRECAST_MPI}\": it takes auto, on or off.")
endif()
if(PRECAST_BUILD_PIPELINE AND NOT _mpi STREQUAL "off")
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    set(PRECAST_MPI_ENABLED ON)
  elseif(_mpi STREQUAL "on")
    message(FATAL_ERROR "PRECAST_MPI=on, and MPI was not found (on Debian: apt-get install libopenmpi-dev); "
                        "-DPRECAST_MPI=off builds without it.")
  endif()
endif()

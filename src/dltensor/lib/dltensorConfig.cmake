# SPDX-License-Identifier: Apache-2.0
# find_package(dltensor) gives the target dltensor::dltensor. Everything is found from where this file lies,
# <package>/lib/cmake/dltensor, so the package may be moved. DLTENSOR_FORTRAN is the module to add to a Fortran target.
get_filename_component(DLTENSOR_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(DLTENSOR_FORTRAN "${DLTENSOR_PREFIX}/include/dltensor/dltensor.f90")
foreach(part include/dltensor/array.h libdltensor.so)
  if(NOT EXISTS "${DLTENSOR_PREFIX}/${part}")
    set(dltensor_FOUND FALSE)
    set(dltensor_NOT_FOUND_MESSAGE "${DLTENSOR_PREFIX} has no ${part}: install the dltensor package again")
    return()
  endif()
endforeach()
if(NOT TARGET dltensor::dltensor)
  add_library(dltensor::dltensor SHARED IMPORTED)
  set_target_properties(dltensor::dltensor PROPERTIES
    IMPORTED_LOCATION "${DLTENSOR_PREFIX}/libdltensor.so"
    INTERFACE_INCLUDE_DIRECTORIES "${DLTENSOR_PREFIX}/include")
endif()

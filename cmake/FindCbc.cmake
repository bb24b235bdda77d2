# SPDX-License-Identifier: BSD-3-Clause

# Defines Cbc::cbc, the branch-and-cut solver of COIN-OR with its C interface. Distributions ship only
# pkg-config files.
find_path(Cbc_INCLUDE_DIR Cbc_C_Interface.h PATH_SUFFIXES coin coin-or)
mark_as_advanced(Cbc_INCLUDE_DIR)

set(Cbc_LIBRARIES "")
# CbcSolver has the C interface; it depends on the others, which some linkers need explicitly.
foreach(library IN ITEMS CbcSolver Cbc Cgl OsiClp ClpSolver Clp Osi CoinUtils)
  find_library(Cbc_${library}_LIBRARY ${library})
  mark_as_advanced(Cbc_${library}_LIBRARY)
  if(Cbc_${library}_LIBRARY)
    list(APPEND Cbc_LIBRARIES "${Cbc_${library}_LIBRARY}")
  endif()
endforeach()

set(Cbc_VERSION "")
if(Cbc_INCLUDE_DIR AND EXISTS "${Cbc_INCLUDE_DIR}/CbcConfig.h")
  file(STRINGS "${Cbc_INCLUDE_DIR}/CbcConfig.h" line REGEX "^#define +CBC_VERSION +\"")
  if(line MATCHES "\"([0-9.]+)\"")
    set(Cbc_VERSION "${CMAKE_MATCH_1}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  Cbc
  REQUIRED_VARS Cbc_CbcSolver_LIBRARY Cbc_Cbc_LIBRARY Cbc_CoinUtils_LIBRARY Cbc_INCLUDE_DIR
  VERSION_VAR Cbc_VERSION)

if(Cbc_FOUND AND NOT TARGET Cbc::cbc)
  add_library(Cbc::cbc INTERFACE IMPORTED)
  set_target_properties(
    Cbc::cbc PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${Cbc_INCLUDE_DIR}"
                        INTERFACE_LINK_LIBRARIES "${Cbc_LIBRARIES}")
endif()

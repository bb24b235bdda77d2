# SPDX-License-Identifier: BSD-3-Clause

# Defines the header-only xxHash::xxhash: the hash is compiled inline (XXH_INLINE_ALL), so neither our
# library nor its consumers link libxxhash. Distributions ship no CMake package.
find_path(xxHash_INCLUDE_DIR xxhash.h)
mark_as_advanced(xxHash_INCLUDE_DIR)

set(xxHash_VERSION "")
if(xxHash_INCLUDE_DIR)
  foreach(part IN ITEMS MAJOR MINOR RELEASE)
    set(pattern "^#define XXH_VERSION_${part} +([0-9]+)")
    file(STRINGS "${xxHash_INCLUDE_DIR}/xxhash.h" lines REGEX "${pattern}")
    if(lines MATCHES "${pattern}")
      list(APPEND xxHash_VERSION "${CMAKE_MATCH_1}")
    endif()
  endforeach()
  list(JOIN xxHash_VERSION "." xxHash_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  xxHash
  REQUIRED_VARS xxHash_INCLUDE_DIR
  VERSION_VAR xxHash_VERSION)

if(xxHash_FOUND AND NOT TARGET xxHash::xxhash)
  add_library(xxHash::xxhash INTERFACE IMPORTED)
  set_target_properties(
    xxHash::xxhash PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${xxHash_INCLUDE_DIR}"
                              INTERFACE_COMPILE_DEFINITIONS XXH_INLINE_ALL)
endif()

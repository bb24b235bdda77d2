# SPDX-License-Identifier: BSD-3-Clause

# valet_fix_kokkos(): repairs the include path of an imported Kokkos if it is broken.
#
# Debian's Kokkos (from Trilinos) lists <prefix>/lib/include, which does not exist, so CMake fails to
# generate. Only directories that do not exist are replaced; a correct Kokkos is left unchanged. Also
# installed, because consumers may find the same Kokkos.
function(valet_fix_kokkos)
  if(NOT TARGET Kokkos::kokkos)
    return()
  endif()
  get_target_property(imported Kokkos::kokkos IMPORTED)
  get_target_property(directories Kokkos::kokkos INTERFACE_INCLUDE_DIRECTORIES)
  if(NOT imported OR NOT directories)
    return()
  endif()

  set(sound "")
  set(broken FALSE)
  foreach(directory IN LISTS directories)
    if(directory MATCHES "\\$<" OR IS_DIRECTORY "${directory}")
      list(APPEND sound "${directory}")
    else()
      set(broken TRUE)
    endif()
  endforeach()
  if(NOT broken)
    return()
  endif()

  foreach(directory IN LISTS Kokkos_INCLUDE_DIRS)
    if(EXISTS "${directory}/Kokkos_Core.hpp")
      get_filename_component(directory "${directory}" ABSOLUTE)
      list(APPEND sound "${directory}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES sound)
  set_target_properties(Kokkos::kokkos PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${sound}")
endfunction()

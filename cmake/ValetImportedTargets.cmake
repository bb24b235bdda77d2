# SPDX-License-Identifier: BSD-3-Clause

# Packages of distributions describe their libraries with paths that do not exist, which end CMake or the
# link, although nothing needs them: Debian's Kokkos (from Trilinos 13) names <prefix>/lib/include, Debian's
# Zoltan (Trilinos 13 to 16) the directory and the libraries of packages on which it does not depend, as
# scotch. A correct description is left as it is. Also installed, because consumers find the same packages.

# valet_drop_missing_paths(<target>...): takes directories of headers and libraries that do not exist from
# imported targets and from those that they link.
function(valet_drop_missing_paths)
  set(waiting ${ARGN})
  set(seen "")
  while(waiting)
    list(POP_FRONT waiting target)
    if(target IN_LIST seen OR NOT TARGET "${target}")
      continue()
    endif()
    list(APPEND seen "${target}")
    get_target_property(imported ${target} IMPORTED)
    if(NOT imported)
      continue()
    endif()
    foreach(property IN ITEMS INTERFACE_INCLUDE_DIRECTORIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES
                              INTERFACE_LINK_LIBRARIES)
      get_target_property(values ${target} ${property})
      if(values)
        valet_existing_paths(present ${values})
        if(NOT present STREQUAL values)
          set_target_properties(${target} PROPERTIES ${property} "${present}")
        endif()
      endif()
    endforeach()
    if(values)
      # Libraries that only the linker needs.
      list(TRANSFORM present REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1")
      list(APPEND waiting ${present})
    endif()
  endwhile()
endfunction()

# valet_existing_paths(<variable> <value>...): the values without paths that do not exist and without imported
# targets of such a path. Flags, and generator expressions, whose value is not known yet, are kept.
function(valet_existing_paths variable)
  set(present "")
  foreach(value IN LISTS ARGN)
    set(path "${value}")
    if(TARGET "${value}")
      get_target_property(path ${value} IMPORTED_LOCATION)
    endif()
    if(NOT IS_ABSOLUTE "${path}" OR path MATCHES "\\$<" OR EXISTS "${path}")
      list(APPEND present "${value}")
    endif()
  endforeach()
  set(${variable} "${present}" PARENT_SCOPE)
endfunction()

# valet_fix_kokkos(): lets Kokkos::kokkos lead to its headers, with what Kokkos_INCLUDE_DIRS says if the
# description has no directory that has them.
function(valet_fix_kokkos)
  if(NOT TARGET Kokkos::kokkos)
    return()
  endif()
  get_target_property(before Kokkos::kokkos INTERFACE_INCLUDE_DIRECTORIES)
  valet_drop_missing_paths(Kokkos::kokkos)
  get_target_property(after Kokkos::kokkos INTERFACE_INCLUDE_DIRECTORIES)
  if("${before}" STREQUAL "${after}")
    return()
  endif()
  foreach(directory IN LISTS Kokkos_INCLUDE_DIRS)
    get_filename_component(directory "${directory}" ABSOLUTE)
    if(EXISTS "${directory}/Kokkos_Core.hpp")
      set_property(TARGET Kokkos::kokkos APPEND PROPERTY INTERFACE_INCLUDE_DIRECTORIES "${directory}")
    endif()
  endforeach()
endfunction()

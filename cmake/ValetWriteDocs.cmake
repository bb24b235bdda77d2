# SPDX-License-Identifier: BSD-3-Clause

# cmake -DDOXYGEN= -DSOURCE_DIR= -DDOCS_DIR= -DVERSION= -DDESCRIPTION= -P: writes the API reference to
# DOCS_DIR/html and the names of its headers, one per line, to DOCS_DIR/headers.txt. Any warning is an
# error.
#
# Public are the headers that applications include, and the <valet/...> headers that these include,
# directly or indirectly. Headers in detail/, headers included only from there, and headers for custom
# storages only (valet/ledger.hpp) are private. The Fortran module is left out, because Doxygen takes it
# for a part of the namespace valet; it is described with the headers of C and in their group.
#
# Every public header belongs to a group of src/docs/groups.dox.
cmake_minimum_required(VERSION 3.22)

set(waiting
    valet/valet.hpp
    valet/valet.h
    valet/cabana/migrate.hpp
    valet/kokkos/blocks.hpp
    valet/kokkos/layouts.hpp
    valet/kokkos/ragged.hpp
    valet/p4est.h
    valet/p4est/transfer.hpp
    valet/petsc.h
    valet/zoltan/attached.hpp
    valet/zoltan/lists.hpp
    valet/zoltan/rebalancer.hpp
    valet/zoltan/valet_zoltan.h)
set(private valet/ledger.hpp)
set(group_start valet/configuration.hpp valet/error.hpp valet/log.hpp
                valet/options.hpp valet/progress.hpp valet/report.hpp)
set(group_storage valet/block_storage.hpp valet/custom_storage.hpp valet/node_array.hpp
                  valet/ragged_storage.hpp valet/ref.hpp valet/slots.hpp valet/storage_backend.hpp)
set(group_plans valet/group.hpp valet/junction.hpp valet/objects.hpp valet/plan.hpp valet/repair.hpp valet/resize.hpp)
set(group_layouts valet/alltoall.hpp valet/block_cyclic.hpp valet/dimension.hpp
                  valet/intersect.hpp valet/object_layout.hpp valet/redistribute.hpp valet/scalapack.hpp)
set(group_adapters valet/columns.hpp valet/rebalance.hpp "valet/(cabana|kokkos|p4est|zoltan)/.*")
set(group_c "valet/[a-z0-9_]+[.]h")
# Headers with macros only, or without declarations of their own.
set(group_none valet/export.hpp valet/mpi.hpp valet/valet.h valet/valet.hpp valet/version.hpp)
set(roots "${SOURCE_DIR}/src/include" "${SOURCE_DIR}/adapters/cabana/include"
          "${SOURCE_DIR}/adapters/kokkos/include"
          "${SOURCE_DIR}/adapters/p4est/include" "${SOURCE_DIR}/adapters/petsc/include"
          "${SOURCE_DIR}/adapters/zoltan/include")

set(headers "")
file(GLOB pages "${SOURCE_DIR}/src/docs/*.md")
set(input "${SOURCE_DIR}/README.md" ${pages} "${SOURCE_DIR}/src/docs/groups.dox")
set(filters "")
while(waiting)
  list(POP_FRONT waiting header)
  if(header IN_LIST headers OR header MATCHES "/detail/" OR header IN_LIST private)
    continue()
  endif()
  list(APPEND headers "${header}")
  unset(file)
  foreach(root IN LISTS roots)
    if(EXISTS "${root}/${header}")
      set(file "${root}/${header}")
    endif()
  endforeach()
  if(NOT file)
    message(FATAL_ERROR "${header} is included by a public header, but is not there.")
  endif()
  list(APPEND input "${file}")
  set(group "")
  foreach(candidate IN ITEMS start storage plans layouts adapters c none)
    list(JOIN group_${candidate} "|" members)
    if(header MATCHES "^(${members})$")
      set(group ${candidate})
    endif()
  endforeach()
  if(NOT group)
    message(FATAL_ERROR "${header} is public, but in no group of ${CMAKE_CURRENT_LIST_FILE}.")
  endif()
  if(NOT group STREQUAL "none")
    list(APPEND filters "*/${header}=\"sed -f '${DOCS_DIR}/${group}.sed'\"")
    # Insert the group on the lines of the braces of the namespace or extern "C", to keep line numbers.
    file(WRITE "${DOCS_DIR}/${group}.sed"
         "s|^namespace valet[a-z0-9_:]* {$|& /** @addtogroup ${group} */ /** @{ */|\n"
         "s|^}  // namespace valet.*|/** @} */ &|\n"
         "/^#ifdef __cplusplus/{\nn\ns|^extern \"C\" {$|& /** @addtogroup ${group} */ /** @{ */|\n"
         "s|^}$|/** @} */ }|\n}\n")
  endif()
  file(STRINGS "${file}" lines REGEX "^#include <valet/")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#include <([^>]+)>.*" "\\1" included "${line}")
    list(APPEND waiting "${included}")
  endforeach()
endwhile()
list(JOIN headers "\n" lines)
file(WRITE "${DOCS_DIR}/headers.txt" "${lines}\n")

list(JOIN filters " " filters)

# Values in a Doxyfile are quoted and separated by blanks.
file(GLOB pictures "${SOURCE_DIR}/examples/*/*.png")
foreach(picture IN LISTS pictures)
  get_filename_component(name "${picture}" NAME)
  if(name IN_LIST picture_names)
    message(FATAL_ERROR "Two pictures are called ${name}: Doxygen copies all into one directory.")
  endif()
  list(APPEND picture_names "${name}")
endforeach()
list(APPEND roots "${SOURCE_DIR}")
foreach(list IN ITEMS input pictures roots)
  list(TRANSFORM ${list} REPLACE "(.+)" "\"\\1\"")
  list(JOIN ${list} " " ${list})
endforeach()
configure_file("${CMAKE_CURRENT_LIST_DIR}/Doxyfile.in" "${DOCS_DIR}/Doxyfile" @ONLY)

# Start from scratch to remove pages of deleted headers.
file(REMOVE_RECURSE "${DOCS_DIR}/html")
execute_process(COMMAND "${DOXYGEN}" "${DOCS_DIR}/Doxyfile" RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "The API reference has warnings, see above.")
endif()

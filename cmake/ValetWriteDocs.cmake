# SPDX-License-Identifier: BSD-3-Clause

# cmake -DDOXYGEN= -DPYTHON= -DSOURCE_DIR= -DDOCS_DIR= -DVERSION= -DDESCRIPTION= -P: writes the API reference to
# DOCS_DIR/html and the names of its headers, one per line, to DOCS_DIR/headers.txt. Any warning is an
# error.
#
# Public are the headers that applications include, and the <valet/...> headers that these include,
# directly or indirectly. Headers in detail/, headers included only from there, and headers for custom
# storages only (valet/ledger.hpp) are private. The Fortran module is left out, because Doxygen takes it
# for a part of the namespace valet; languages.py puts its procedures beside the functions of C.
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
set(group_start "valet/(configuration|error|log|options|report).h(pp)?" valet/progress.hpp)
set(group_storage "valet/(block_storage|node_array).h(pp)?" valet/custom.h valet/custom_storage.hpp valet/ragged.h
                  "valet/(ragged_storage|ref|slots|storage_backend).hpp")
set(group_plans "valet/(objects|plan).h(pp)?" "valet/(group|repair|resize).hpp")
set(group_layouts "valet/(alltoall|intersect|redistribute).h(pp)?"
                  "valet/(block_cyclic|dimension|object_layout|scalapack).hpp")
set(group_junction "valet/junction.h(pp)?")
set(group_adapters valet/columns.hpp valet/rebalance.hpp "valet/(p4est|petsc).h"
                   "valet/(cabana|kokkos|p4est|zoltan)/.*")
# Headers with macros only, or without declarations of their own.
set(group_none valet/export.hpp valet/mpi.hpp valet/valet.h valet/valet.hpp valet/version.hpp)
set(roots "${SOURCE_DIR}/src/include" "${SOURCE_DIR}/adapters/cabana/include"
          "${SOURCE_DIR}/adapters/kokkos/include"
          "${SOURCE_DIR}/adapters/p4est/include" "${SOURCE_DIR}/adapters/petsc/include"
          "${SOURCE_DIR}/adapters/zoltan/include")

set(headers "")
file(GLOB pages "${SOURCE_DIR}/src/docs/*.md")
set(input "${SOURCE_DIR}/README.md" ${pages} "${DOCS_DIR}/groups.dox")
set(languages "${CMAKE_CURRENT_LIST_DIR}/languages.py")
file(MAKE_DIRECTORY "${DOCS_DIR}")
execute_process(COMMAND "${PYTHON}" "${languages}" write "${SOURCE_DIR}" "${DOCS_DIR}/groups.dox"
                RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "The tables of the API reference are not complete, see above.")
endif()
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
  foreach(candidate IN ITEMS start storage plans layouts junction adapters none)
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

# On the page of a group its text, with the table, comes first.
execute_process(COMMAND "${DOXYGEN}" -l "${DOCS_DIR}/layout.xml")
file(READ "${DOCS_DIR}/layout.xml" layout)
string(REGEX MATCH "<group>.*</group>" group "${layout}")
string(REGEX MATCH " *<detaileddescription[^>]*>\n" text "${group}")
string(REPLACE "${text}" "" first "${group}")
string(REGEX REPLACE "<briefdescription[^>]*>\n" "    <detaileddescription title=\"Tasks\"/>\n" first "${first}")
string(REPLACE "${group}" "${first}" layout "${layout}")
file(WRITE "${DOCS_DIR}/layout.xml" "${layout}")

# Start from scratch to remove pages of deleted headers.
file(REMOVE_RECURSE "${DOCS_DIR}/html")
execute_process(COMMAND "${DOXYGEN}" "${DOCS_DIR}/Doxyfile" RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "The API reference has warnings, see above.")
endif()

# SPDX-License-Identifier: BSD-3-Clause

# Adds the target docs: the API reference in docs/html of the build tree. Without Doxygen, the target
# prints what to install. The reference includes all adapters, whether they are built or not.
function(valet_add_docs)
  find_package(Python3 QUIET COMPONENTS Interpreter)
  if(DOXYGEN_FOUND AND Python3_Interpreter_FOUND)
    message(STATUS "Valet: the API reference is built by the target docs")
    add_custom_target(
      docs
      COMMAND
        "${CMAKE_COMMAND}" "-DDOXYGEN=${DOXYGEN_EXECUTABLE}"
        "-DPYTHON=${Python3_EXECUTABLE}" "-DSOURCE_DIR=${PROJECT_SOURCE_DIR}"
        "-DDOCS_DIR=${PROJECT_BINARY_DIR}/docs" "-DVERSION=${PROJECT_VERSION}"
        "-DDESCRIPTION=${PROJECT_DESCRIPTION}" -P "${VALET_MODULE_DIR}/ValetWriteDocs.cmake"
      COMMENT "Writing the API reference to ${PROJECT_BINARY_DIR}/docs/html/index.html"
      VERBATIM)
    return()
  endif()
  message(STATUS "Valet: the API reference is not built, Doxygen or Python not found")
  add_custom_target(
    docs
    COMMAND "${CMAKE_COMMAND}" -E echo
            "The API reference needs Doxygen 1.9.4 or later and Python 3 (Debian and Ubuntu: doxygen python3);"
            "install them and configure again with VALET_DOCS=AUTO."
    COMMAND "${CMAKE_COMMAND}" -E false
    VERBATIM)
endfunction()

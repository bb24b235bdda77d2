# SPDX-License-Identifier: BSD-3-Clause

# cmake -DFLAVOUR=shared|static|pkgconfig -DSETTINGS= -DCONFIGURATION_FILE= -P: install Valet to a
# prefix below the build tree, build the consumer against it, run that on 2 ranks.
cmake_minimum_required(VERSION 3.22)
include("${SETTINGS}")
include("${CONFIGURATION_FILE}")
# In the environment, because a list does not survive being passed from function to function.
string(REPLACE ";" ":" prefix_path "${PREFIX_PATH}")

# Runs a command; its output is shown only if it fails.
function(run what)
  execute_process(
    COMMAND ${ARGN}
    RESULT_VARIABLE result
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${what} failed (${result}):\n${command}\n${output}")
  endif()
  message(STATUS "${what}: done")
  set(output "${output}" PARENT_SCOPE)
endfunction()

# Configures and builds the consumer in CMake; further arguments go to its configuration.
function(build_consumer build prefix)
  file(REMOVE_RECURSE "${build}")
  run("Configuring the consumer"
      "${CMAKE_COMMAND}" -E env "CMAKE_PREFIX_PATH=${prefix}:${prefix_path}"
      "${CMAKE_COMMAND}" -S "${CONSUMER_DIR}" -B "${build}" -G "${GENERATOR}"
      "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DCMAKE_C_COMPILER=${C_COMPILER}"
      "-DCMAKE_BUILD_TYPE=${CONFIGURATION}" "-DVALET_EXPECTED_VERSION=${VERSION}"
      "-DVALET_EXPECTED_PREFIX=${prefix}" ${ARGN})
  run("Building the consumer" "${CMAKE_COMMAND}" --build "${build}" --config "${CONFIGURATION}")
endfunction()

function(run_consumer program)
  run("Running the consumer" "${CMAKE_COMMAND}" -E env ${MPIEXEC_ENVIRONMENT} ${ARGN} ${MPIEXEC}
      "${program}")
  if(NOT output MATCHES "Valet ${VERSION} on 2 ranks")
    message(FATAL_ERROR "The consumer ran, but did not say that it uses ${VERSION}:\n${output}")
  endif()
endfunction()

string(REPLACE ";" "\\;" adapters "${ADAPTERS}")
set(shared_prefix "${WORK_DIR}/shared/prefix")

if(FLAVOUR STREQUAL "shared")
  file(REMOVE_RECURSE "${WORK_DIR}/shared")
  run("Installing" "${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${shared_prefix}" --config
      "${CONFIGURATION}")
  build_consumer("${WORK_DIR}/shared/core" "${shared_prefix}")
  run_consumer("${WORK_DIR}/shared/core/consumer")
  if(ADAPTERS)
    build_consumer("${WORK_DIR}/shared/adapters" "${shared_prefix}" "-DVALET_COMPONENTS=${adapters}")
    run_consumer("${WORK_DIR}/shared/adapters/consumer")
  endif()

elseif(FLAVOUR STREQUAL "static")
  # Not optimised: it is the package that is tested, and this compiles everything once more.
  set(CONFIGURATION Debug)
  file(REMOVE_RECURSE "${WORK_DIR}/static")
  run("Configuring a static Valet"
      "${CMAKE_COMMAND}" -E env "CMAKE_PREFIX_PATH=${prefix_path}"
      "${CMAKE_COMMAND}" -S "${SOURCE_DIR}" -B "${WORK_DIR}/static/valet" -G "${GENERATOR}"
      "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DCMAKE_C_COMPILER=${C_COMPILER}"
      "-DCMAKE_BUILD_TYPE=${CONFIGURATION}"
      "-DCMAKE_INSTALL_PREFIX=${WORK_DIR}/static/prefix" -DBUILD_SHARED_LIBS=OFF
      -DVALET_BUILD_TESTS=OFF -DVALET_BUILD_TOOLS=OFF -DVALET_BUILD_EXAMPLES=OFF
      -DVALET_KOKKOS=${WITH_KOKKOS} -DVALET_ZOLTAN=${WITH_ZOLTAN})
  run("Building a static Valet" "${CMAKE_COMMAND}" --build "${WORK_DIR}/static/valet" --target
      install --config "${CONFIGURATION}")
  build_consumer("${WORK_DIR}/static/consumer" "${WORK_DIR}/static/prefix"
                 "-DVALET_COMPONENTS=${adapters}")
  run_consumer("${WORK_DIR}/static/consumer/consumer")

elseif(FLAVOUR STREQUAL "pkgconfig")
  if(NOT PKG_CONFIG)
    message(FATAL_ERROR "pkg-config is needed for this test.")
  endif()
  # Moved first: valet.pc must not remember where it was installed.
  set(moved "${WORK_DIR}/pkgconfig/moved")
  file(REMOVE_RECURSE "${WORK_DIR}/pkgconfig")
  file(COPY "${shared_prefix}/" DESTINATION "${moved}")
  run("Asking pkg-config" "${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${moved}/${LIBDIR}/pkgconfig"
      "${PKG_CONFIG}" --cflags --libs valet)
  separate_arguments(flags UNIX_COMMAND "${output}")
  run("Compiling with the MPI wrapper" "${MPI_CXX_WRAPPER}" -std=c++20 "${CONSUMER_DIR}/main.cpp"
      -o "${WORK_DIR}/pkgconfig/consumer" ${flags})
  run_consumer("${WORK_DIR}/pkgconfig/consumer" "LD_LIBRARY_PATH=${moved}/${LIBDIR}")

else()
  message(FATAL_ERROR "FLAVOUR must be shared, static or pkgconfig, not '${FLAVOUR}'.")
endif()

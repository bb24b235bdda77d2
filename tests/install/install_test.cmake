# SPDX-License-Identifier: BSD-3-Clause

# cmake -DFLAVOUR= -DSETTINGS= -DCONFIGURATION_FILE= -P: install Valet to a prefix below the build
# tree, build projects against it, run them on 2 ranks. The flavours stand in CMakeLists.txt.
cmake_minimum_required(VERSION 3.22)
include("${SETTINGS}")
include("${CONFIGURATION_FILE}")
# In the environment, because a list does not survive being passed from function to function.
string(REPLACE ";" ":" prefix_path "${PREFIX_PATH}")
# With commas for the same reason.
string(REPLACE ";" "," components "${COMPONENTS}")
# With a space, which scripts and files for pkg-config like to forget.
set(installed_prefix "${WORK_DIR}/installed/a prefix")

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

# The command that configures <source> in <build>, with the compilers and the MPI of this build.
macro(set_configure_command source build prefix)
  set(configure_command
      "${CMAKE_COMMAND}" -E env "CMAKE_PREFIX_PATH=${prefix}:${prefix_path}"
      "${CMAKE_COMMAND}" -S "${source}" -B "${build}" -G "${GENERATOR}"
      "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DCMAKE_C_COMPILER=${C_COMPILER}"
      "-DMPI_C_COMPILER=${MPI_C_WRAPPER}" "-DMPI_CXX_COMPILER=${MPI_CXX_WRAPPER}"
      "-DMPIEXEC_EXECUTABLE=${MPIEXEC_PROGRAM}" "-DCMAKE_BUILD_TYPE=${CONFIGURATION}"
      # Without information for debuggers, which nobody reads.
      "-DCMAKE_C_FLAGS_DEBUG=-O0" "-DCMAKE_CXX_FLAGS_DEBUG=-O0")
endmacro()

# Configures and builds a project; further arguments go to its configuration.
function(build_project what source build prefix)
  file(REMOVE_RECURSE "${build}")
  set_configure_command("${source}" "${build}" "${prefix}")
  run("Configuring ${what}" ${configure_command} ${ARGN})
  run("Building ${what}" "${CMAKE_COMMAND}" --build "${build}" --config "${CONFIGURATION}" ${targets})
endfunction()

function(build_consumer build prefix)
  build_project("the consumer" "${TEST_DIR}/consumer" "${build}" "${prefix}"
                "-DVALET_EXPECTED_VERSION=${VERSION}" "-DVALET_EXPECTED_PREFIX=${prefix}" ${ARGN})
endfunction()

# Fails unless the program runs and says <sentence>.
function(run_program program sentence)
  run("Running ${program}" "${CMAKE_COMMAND}" -E env ${MPIEXEC_ENVIRONMENT} ${ARGN} ${MPIEXEC}
      "${program}")
  if(NOT output MATCHES "${sentence}")
    message(FATAL_ERROR "${program} ran, but did not say '${sentence}':\n${output}")
  endif()
endfunction()

function(run_consumer program)
  run_program("${program}" "Valet ${VERSION} on 2 ranks" ${ARGN})
endfunction()

# Compiles and links as the line that follows says, with what pkg-config says about <package>.
function(compile_with_pkgconfig package)
  run("Asking pkg-config for ${package}" "${CMAKE_COMMAND}" -E env
      "PKG_CONFIG_PATH=${moved}/${LIBDIR}/pkgconfig" "${PKG_CONFIG}" --cflags --libs ${package})
  separate_arguments(flags UNIX_COMMAND "${output}")
  run("Compiling with ${package}" ${ARGN} ${flags})
endfunction()

# A component that no Valet has must be called so.
function(expect_unknown_component)
  set_configure_command("${TEST_DIR}/consumer" "${WORK_DIR}/installed/unknown" "${installed_prefix}")
  execute_process(
    COMMAND ${configure_command} -DVALET_COMPONENTS=warp
    RESULT_VARIABLE result
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  set(sentence "there is no component warp; the components are valet, cabana, fortran, kokkos, p4est, petsc, zoltan, zoltan_fortran")
  if(result EQUAL 0 OR NOT output MATCHES "${sentence}")
    message(FATAL_ERROR "The component warp gives ${result}, but not '${sentence}':\n${output}")
  endif()
endfunction()

# A Valet for one MPI is not found by a project that selects another, whatever the components.
function(expect_other_mpi)
  set(MPI_C_WRAPPER "${OTHER_MPI_C_WRAPPER}")
  set(MPI_CXX_WRAPPER "${OTHER_MPI_CXX_WRAPPER}")
  foreach(components IN ITEMS "" "${components}")
    set(build "${WORK_DIR}/installed/other_mpi")
    file(REMOVE_RECURSE "${build}")
    set_configure_command("${TEST_DIR}/consumer" "${build}" "${installed_prefix}")
    execute_process(
      COMMAND ${configure_command} "-DVALET_COMPONENTS=${components}"
      RESULT_VARIABLE result
      OUTPUT_VARIABLE output
      ERROR_VARIABLE output)
    string(REGEX REPLACE "[ \n]+" " " output "${output}")
    if(result EQUAL 0 OR NOT output MATCHES "this Valet was built for ${MPI_FAMILY}, and [A-Za-z ]+ is selected")
      message(FATAL_ERROR "With another MPI and components '${components}', configuring gives ${result}:\n"
                          "${output}")
    endif()
  endforeach()
endfunction()

function(expect_installed)
  foreach(file IN LISTS ARGN)
    if(NOT EXISTS "${installed_prefix}/${file}")
      message(FATAL_ERROR "${file} is not installed")
    endif()
  endforeach()
endfunction()

# Sets `headers` to all that are installed, and fails where one is not reached from the entry headers.
function(read_headers)
  set(root "${installed_prefix}/${INCLUDEDIR}")
  file(GLOB_RECURSE headers RELATIVE "${root}" "${root}/*")
  set(entries valet/valet.hpp valet/valet.h valet/p4est.h valet/p4est/transfer.hpp valet/petsc.h)
  if("kokkos" IN_LIST COMPONENTS)
    list(APPEND entries valet/kokkos/blocks.hpp valet/kokkos/layouts.hpp valet/kokkos/ragged.hpp
         valet/cabana/migrate.hpp)
  endif()
  if("zoltan" IN_LIST COMPONENTS)
    list(APPEND entries valet/zoltan/attached.hpp valet/zoltan/lists.hpp valet/zoltan/rebalancer.hpp
         valet/zoltan/valet_zoltan.h)
  endif()
  set(waiting ${entries})
  set(reached "")
  while(waiting)
    list(POP_FRONT waiting header)
    if(header IN_LIST reached)
      continue()
    endif()
    list(APPEND reached "${header}")
    if(NOT header IN_LIST headers)
      message(FATAL_ERROR "${header} is included, but not installed")
    endif()
    file(STRINGS "${root}/${header}" lines REGEX "^ *# *include [<\"]valet/")
    list(TRANSFORM lines REPLACE "^[^<\"]*[<\"]([^>\"]+)[>\"].*" "\\1")
    list(APPEND waiting ${lines})
    file(STRINGS "${root}/${header}" lines REGEX "^ *# *include \"")
    if(lines)
      message(FATAL_ERROR "${header} does not include with <valet/...>: ${lines}")
    endif()
  endwhile()
  set(unreached ${headers})
  list(REMOVE_ITEM unreached ${reached})
  if(unreached)
    message(FATAL_ERROR "installed, but included by none of ${entries}: ${unreached}")
  endif()
  list(LENGTH headers count)
  # With Kokkos and Zoltan: what is public is meant to stay small.
  if(count GREATER 84)
    message(FATAL_ERROR "${count} headers are installed, more than 84")
  endif()
  message(STATUS "${count} headers are installed, each is reached")
  set(headers "${headers}" PARENT_SCOPE)
endfunction()

if(FLAVOUR STREQUAL "shared")
  file(REMOVE_RECURSE "${WORK_DIR}/installed")
  run("Installing" "${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${installed_prefix}"
      --config "${CONFIGURATION}")
  expect_installed("${DOCUMENTS}/LICENSE" "${DOCUMENTS}/examples/CMakeLists.txt")
  if(MANUAL)
    foreach(page IN ITEMS valet-plan valet-bench valet-bench-exchange)
      expect_installed("${MANUAL}/${page}.1")
      file(READ "${installed_prefix}/${MANUAL}/${page}.1" text)
      # CLI11 from 2.5 on writes its headings in another form, which help2man makes sections of another level.
      if(NOT text MATCHES "\n${page} .*\n\\.(SH OPTIONS|SS \"OPTIONS:\")\n.*help")
        message(FATAL_ERROR "the manual of ${page} does not tell its options: ${text}")
      endif()
    endforeach()
  endif()
  if(SHARED)
    # The minor version below 1.0, where it may break what is built on it.
    string(REGEX MATCH "^(0\\.)?[0-9]+" soversion "${VERSION}")
    expect_installed("${LIBDIR}/libvalet.so.${soversion}" "${LIBDIR}/libvalet_mpi.so")
  endif()
  build_consumer("${WORK_DIR}/installed/core" "${installed_prefix}")
  run_consumer("${WORK_DIR}/installed/core/consumer")
  if(COMPONENTS)
    build_consumer("${WORK_DIR}/installed/all" "${installed_prefix}"
                   "-DVALET_COMPONENTS=${components}")
    run_consumer("${WORK_DIR}/installed/all/consumer")
  endif()
  expect_unknown_component()
  if(OTHER_MPI_CXX_WRAPPER AND OTHER_MPI_C_WRAPPER)
    expect_other_mpi()
  endif()

elseif(FLAVOUR STREQUAL "headers")
  read_headers()
  if(NOT PETSC_INCLUDES)
    list(REMOVE_ITEM headers valet/petsc.h)
  endif()
  string(REPLACE ";" "," headers "${headers}")
  set(adapters "${COMPONENTS}")
  list(REMOVE_ITEM adapters fortran zoltan_fortran)
  string(REPLACE ";" "," adapters "${adapters}")
  # Not optimised: only what the compiler says counts.
  set(CONFIGURATION Debug)
  build_project("the headers" "${TEST_DIR}/headers" "${WORK_DIR}/headers" "${installed_prefix}"
                "-DVALET_COMPONENTS=${adapters}" "-DHEADERS=${headers}" "-DWARNINGS_AS_ERRORS=${WARNINGS_AS_ERRORS}"
                "-DINCLUDE_DIR=${installed_prefix}/${INCLUDEDIR}" "-DPETSC_INCLUDES=${PETSC_INCLUDES}"
                "-DCABANA_STUB=${TEST_DIR}/../cabana/stub")

elseif(FLAVOUR STREQUAL "examples")
  set(CONFIGURATION Debug)
  set(targets --target ${EXAMPLES})
  build_project("the examples" "${installed_prefix}/${DOCUMENTS}/examples" "${WORK_DIR}/examples"
                "${installed_prefix}")
  # The first one in a project of Fortran alone. Other MPIs may come without their module.
  if("fortran" IN_LIST COMPONENTS AND SHARED AND MPI_FAMILY STREQUAL "Open MPI")
    set(targets "")
    build_project("a project in Fortran" "${TEST_DIR}/fortran_project" "${WORK_DIR}/fortran_project"
                  "${installed_prefix}" "-DCMAKE_Fortran_COMPILER=${Fortran_COMPILER}"
                  "-DEXAMPLE=${installed_prefix}/${DOCUMENTS}/examples/first/01_arrays.f90")
    run_program("${WORK_DIR}/fortran_project/application" "200 particles are on their ranks")
  endif()

elseif(FLAVOUR STREQUAL "static")
  # Not optimised: it is the package that is tested, and this compiles everything once more.
  set(CONFIGURATION Debug)
  set(static_prefix "${WORK_DIR}/static/prefix")
  set(archive "${WORK_DIR}/static/valet.tar.gz")
  file(REMOVE_RECURSE "${WORK_DIR}/static")
  file(MAKE_DIRECTORY "${WORK_DIR}/static")
  run("Packing the source" "${CMAKE_COMMAND}" -E chdir "${SOURCE_DIR}" "${CMAKE_COMMAND}" -E tar czf
      "${archive}" CMakeLists.txt LICENSE adapters cmake src)
  set(targets --target all install)
  build_project("a static Valet in a project in C that fetches it" "${TEST_DIR}/c_project"
                "${WORK_DIR}/static/part" "" "-DVALET_ARCHIVE=${archive}" "-DCMAKE_INSTALL_PREFIX=${static_prefix}"
                -DVALET_INSTALL=ON -DVALET_KOKKOS=${WITH_KOKKOS} -DVALET_ZOLTAN=${WITH_ZOLTAN}
                -DVALET_QUICK_BUILD=ON)
  set(targets "")
  build_consumer("${WORK_DIR}/static/consumer" "${static_prefix}" "-DVALET_COMPONENTS=${components}")
  run_consumer("${WORK_DIR}/static/consumer/consumer")
  if(WITH_ZOLTAN)
    set(sentence "Valet ${VERSION} is in front of Zoltan")
    run_program("${WORK_DIR}/static/part/application" "${sentence}")
    build_project("a project in C" "${TEST_DIR}/c_project" "${WORK_DIR}/static/c_project"
                  "${static_prefix}")
    run_program("${WORK_DIR}/static/c_project/application" "${sentence}")
  endif()

elseif(FLAVOUR STREQUAL "pkgconfig")
  if(NOT PKG_CONFIG)
    message(FATAL_ERROR "pkg-config is needed for this test.")
  endif()
  # Moved first: the files must not remember where they were installed.
  set(moved "${WORK_DIR}/pkgconfig/moved here")
  file(REMOVE_RECURSE "${WORK_DIR}/pkgconfig")
  file(COPY "${installed_prefix}/" DESTINATION "${moved}")
  set(libraries "LD_LIBRARY_PATH=${moved}/${LIBDIR}")
  compile_with_pkgconfig(valet "${MPI_CXX_WRAPPER}" -std=c++20 "${TEST_DIR}/consumer/main.cpp"
                         -o "${WORK_DIR}/pkgconfig/consumer")
  run_consumer("${WORK_DIR}/pkgconfig/consumer" "${libraries}")
  if("fortran" IN_LIST COMPONENTS)
    set(object "${WORK_DIR}/pkgconfig/storage.o")
    compile_with_pkgconfig(valet_fortran "${Fortran_COMPILER}" -c "${TEST_DIR}/consumer/storage.f90"
                           -o "${object}")
    compile_with_pkgconfig(
      valet_fortran "${MPI_CXX_WRAPPER}" -std=c++20 -DCONSUMER_USES_FORTRAN
      "${TEST_DIR}/consumer/main.cpp" "${object}" -o "${WORK_DIR}/pkgconfig/fortran")
    run_consumer("${WORK_DIR}/pkgconfig/fortran" "${libraries}")
  endif()
  if("zoltan" IN_LIST COMPONENTS)
    compile_with_pkgconfig(valet_zoltan "${MPI_C_WRAPPER}" "${TEST_DIR}/c_project/main.c"
                           -o "${WORK_DIR}/pkgconfig/application")
    run_program("${WORK_DIR}/pkgconfig/application" "Valet ${VERSION} is in front of Zoltan"
                "${libraries}")
  endif()
  if("zoltan_fortran" IN_LIST COMPONENTS)
    set(object "${WORK_DIR}/pkgconfig/zoltan.o")
    compile_with_pkgconfig(valet_zoltan_fortran "${Fortran_COMPILER}" -c "${TEST_DIR}/consumer/zoltan.f90"
                           -o "${object}")
    compile_with_pkgconfig(
      valet_zoltan_fortran "${MPI_CXX_WRAPPER}" -std=c++20 -DCONSUMER_USES_ZOLTAN_FORTRAN
      "${TEST_DIR}/consumer/main.cpp" "${object}" -o "${WORK_DIR}/pkgconfig/zoltan_fortran")
    run_consumer("${WORK_DIR}/pkgconfig/zoltan_fortran" "${libraries}")
  endif()

elseif(FLAVOUR STREQUAL "module")
  # Moved first, as above; without a space, after which Lmod cuts the path of a file in Tcl.
  set(moved "${WORK_DIR}/module/moved")
  file(REMOVE_RECURSE "${WORK_DIR}/module")
  file(COPY "${installed_prefix}/" DESTINATION "${moved}")
  list(JOIN MPIEXEC " " launch)
  run("Loading the module"
      "${CMAKE_COMMAND}" -E env ${MPIEXEC_ENVIRONMENT} "MPICXX=${MPI_CXX_WRAPPER}" "MPIEXEC=${launch}"
      "CMAKE=${CMAKE_COMMAND}" "GENERATOR=${GENERATOR}" "CXX=${CXX_COMPILER}" "CC=${C_COMPILER}"
      "TOOLS=${TOOLS}" "MANUAL=${MANUAL}" bash "${TEST_DIR}/module_test.sh" "${MODULE_INIT}" "${moved}"
      "${MODULEFILES}" "${DOCUMENTS}" "${VERSION}" "${WORK_DIR}/module")

else()
  message(FATAL_ERROR "Unknown FLAVOUR '${FLAVOUR}'.")
endif()

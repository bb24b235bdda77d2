# SPDX-License-Identifier: BSD-3-Clause

include(ValetMpiexec)
# CMake puts it in front of programs that it starts itself, not in front of those that mpiexec starts.
list(APPEND VALET_MPIEXEC_FLAGS ${CMAKE_CROSSCOMPILING_EMULATOR})

set(VALET_TEST_SUPPORT_DIR "${PROJECT_SOURCE_DIR}/tests/support")
set(VALET_TEST_SCRIPT_DIR "${CMAKE_CURRENT_LIST_DIR}")

# valet_add_test(NAME <name> SOURCES <file>... [LIBRARIES <target>...] [RANKS <n>...]
#                [TIMEOUT <seconds>] [LABELS <label>...] [ENVIRONMENT <NAME=value>...] [INTERNAL]
#                [OWN_PROGRAM [WHOLE_STACKS]])
#
# Tests of GoogleTest in files <name>_test.cpp, linked to Valet::valet and LIBRARIES. The files of a folder
# that need the same libraries and the same other sources are one program, of which a test runs its files
# only (tests/support/only_files.hpp): linking takes longer than compiling most of them.
# Without RANKS: one serial test <name>, without MPI_Init, label "serial".
# With RANKS: by our MPI main (tests/support/mpi_main.cpp), registered as <name>_np<n> for each count, label
# "mpi".
# LABELS come on top of these; "long", "large" and "slow" are the ones tests/run.sh looks at.
# INTERNAL links the core as a static library with its hidden symbols instead, for tests of what is
# not API. Not together with an adapter: that brings the core a second time.
# OWN_PROGRAM: target test_<name>, for what has a main function, compiler options or an environment of its
# own.
# WHOLE_STACKS is for programs that look for leaks only at their end, when the plugins of MPI have no
# names any more and a leak of theirs is told from ours by its whole stack: see mpi_main.cpp and
# lsan.supp.
function(valet_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "INTERNAL;OWN_PROGRAM;WHOLE_STACKS" "NAME;TIMEOUT"
                        "SOURCES;LIBRARIES;RANKS;LABELS;ENVIRONMENT")
  if(NOT arg_NAME OR NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "valet_add_test: NAME and SOURCES are needed; "
                        "unknown: '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()

  set(files "${arg_SOURCES}")
  list(FILTER files INCLUDE REGEX "_test\\.cpp$")
  set(others "${arg_SOURCES}")
  list(FILTER others EXCLUDE REGEX "_test\\.cpp$")
  foreach(source IN LISTS others)
    # It may replace functions that tests call.
    set_source_files_properties("${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
  if(arg_OWN_PROGRAM)
    set(target test_${arg_NAME})
    set(selection)
  else()
    file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}/tests" "${CMAKE_CURRENT_SOURCE_DIR}")
    set(parts ${folder} ${arg_LIBRARIES})
    if(arg_INTERNAL)
      list(APPEND parts internal)
    endif()
    if(NOT arg_RANKS)
      list(APPEND parts serial)
    endif()
    foreach(source IN LISTS others)
      get_filename_component(stem "${source}" NAME_WE)
      list(APPEND parts ${stem})
    endforeach()
    list(JOIN parts _ target)
    string(REGEX REPLACE "[^a-zA-Z0-9]+" "_" target "tests_${target}")
    string(TOLOWER "${target}" target)
    # So that each test can be built by its name.
    add_custom_target(test_${arg_NAME} DEPENDS ${target})
    set(names)
    foreach(file IN LISTS files)
      get_filename_component(name "${file}" NAME)
      list(APPEND names ${name})
    endforeach()
    list(JOIN names "," names)
    set(selection --files=${names})
  endif()
  set_property(GLOBAL PROPERTY VALET_TEST_PROGRAM_${arg_NAME} ${target})
  set_property(GLOBAL PROPERTY VALET_TEST_FILES_${arg_NAME} ${selection})
  if(TARGET ${target})
    # Another test may have the same files.
    get_target_property(sources ${target} SOURCES)
    list(REMOVE_ITEM files ${sources})
    target_sources(${target} PRIVATE ${files})
  else()
    valet_add_test_program(${target})
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ${VALET_ONLY_MPI_TESTS})
  endif()
  if(arg_RANKS AND NOT arg_LABELS)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL OFF)
  endif()
  valet_register_test()
endfunction()

# valet_test_program(<variable> <test>): the target of the program that has a test.
function(valet_test_program variable test)
  get_property(target GLOBAL PROPERTY VALET_TEST_PROGRAM_${test})
  set(${variable} ${target} PARENT_SCOPE)
endfunction()

# valet_test_command(<variable> <test>): what mpiexec starts for a test.
function(valet_test_command variable test)
  get_property(target GLOBAL PROPERTY VALET_TEST_PROGRAM_${test})
  get_property(selection GLOBAL PROPERTY VALET_TEST_FILES_${test})
  set(${variable} $<TARGET_FILE:${target}> ${selection} PARENT_SCOPE)
endfunction()

# The parts of valet_add_test(): they read its variables.
function(valet_add_test_program target)
  add_executable(${target} ${arg_SOURCES})
  valet_configure_target(${target})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/bin")
  target_include_directories(${target} PRIVATE "${VALET_TEST_SUPPORT_DIR}" "${PROJECT_SOURCE_DIR}/src")
  if(arg_INTERNAL)
    target_link_libraries(${target} PRIVATE valet_internal)
  else()
    target_link_libraries(${target} PRIVATE Valet::valet)
  endif()
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES})
  # For clang the list {1, 8} of sizes is one of ints whose sign changes; GCC leaves that out of
  # -Wconversion in C++. What we install is checked for it.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-Wno-sign-conversion>")
  # The library keeps its own level. Sanitizers and clang take twice as long to compile with -O1, and undefined
  # behaviour is looked for in the library.
  valet_quick_options(options)
  if(VALET_QUICK_BUILD AND (VALET_SANITIZE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU"))
    set(options "$<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:-O0$<$<BOOL:${VALET_SANITIZE}>:;-g0;-fno-sanitize=undefined>>")
  endif()
  target_compile_options(${target} PRIVATE "${options}")
  # Tests of a few files at a time are one translation unit, so that templates which they share are instantiated
  # once; with -Og, this halves the time to compile them. So no two files of a program may have the same names, not
  # even in anonymous namespaces. Not for compilers for devices, where kernels are most of the time.
  if(NOT arg_OWN_PROGRAM AND NOT "${Kokkos_DEVICES}" MATCHES "CUDA|HIP|SYCL")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
  valet_precompile_test_headers(${target} ${arg_LIBRARIES})
  if(arg_RANKS)
    target_link_libraries(${target} PRIVATE valet_mpi_main)
  else()
    target_link_libraries(${target} PRIVATE valet_serial_main)
  endif()
endfunction()

function(valet_register_test)
  set(short_stacks SHORT_STACKS)
  if(arg_WHOLE_STACKS)
    set(short_stacks)
  endif()
  if(NOT arg_RANKS)
    add_test(NAME ${arg_NAME} COMMAND ${target} ${selection})
    valet_set_test_properties(${arg_NAME} PROCESSORS 1 LABELS serial ${arg_LABELS}
                              ${short_stacks})
    return()
  endif()

  foreach(ranks IN LISTS arg_RANKS)
    set(test ${arg_NAME}_np${ranks})
    add_test(NAME ${test} COMMAND "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG} ${ranks}
                                  ${VALET_MPIEXEC_FLAGS} $<TARGET_FILE:${target}> ${selection})
    # Two at most: our ranks yield while they wait, so more than two rarely compute at once, and
    # claiming one core per rank would leave the cores of a small machine idle between tests.
    set(processors ${ranks})
    if(processors GREATER 2)
      set(processors 2)
    endif()
    valet_set_test_properties(${test} PROCESSORS ${processors} LABELS mpi ${arg_LABELS}
                              ${short_stacks})
  endforeach()
endfunction()

# valet_precompile_test_headers(<target> [<library>...]): the headers that nearly every test of these
# libraries includes are parsed once, by the first test, for all whose compiler flags are the same.
# Not if a compiler cache is used: it could then keep nothing.
function(valet_precompile_test_headers target)
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    return()
  endif()
  # Compilers for devices compile a source more than once, each time with other macros.
  if(ARGN AND "${Kokkos_DEVICES}" MATCHES "CUDA|HIP|SYCL")
    return()
  endif()
  set(headers "${VALET_TEST_SUPPORT_DIR}/testing.hpp")
  set(kind "${ARGN}")
  if(kind STREQUAL "Valet::kokkos")
    list(APPEND headers <Kokkos_Core.hpp> <valet/kokkos/blocks.hpp>)
  elseif(kind STREQUAL "Valet::zoltan")
    list(APPEND headers <valet/zoltan/rebalancer.hpp>)
  elseif(kind)
    return() # libraries of one or two tests
  endif()
  get_property(owner GLOBAL PROPERTY VALET_TEST_HEADERS_${kind})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    list(TRANSFORM headers REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:\\1>")
    target_precompile_headers(${target} PRIVATE ${headers})
    set_property(GLOBAL PROPERTY VALET_TEST_HEADERS_${kind} ${target})
  endif()
endfunction()

# Reads arg_TIMEOUT and arg_ENVIRONMENT of its caller. SHORT_STACKS: stacks of allocations by frame
# pointers, which is fast.
function(valet_set_test_properties test)
  cmake_parse_arguments(PARSE_ARGV 1 property "SHORT_STACKS" "PROCESSORS" "LABELS")
  set(environment ${VALET_MPIEXEC_ENVIRONMENT})
  set(timeout ${arg_TIMEOUT})
  if(CMAKE_CROSSCOMPILING_EMULATOR)
    math(EXPR timeout "5 * ${timeout}")
  endif()
  if(VALET_SANITIZE)
    # Instrumented code is several times slower, and the ranks drift further apart.
    math(EXPR timeout "3 * ${timeout}")
    list(APPEND environment "VALET_TEST_BARRIER_SECONDS=60"
         "LSAN_OPTIONS=suppressions=${VALET_TEST_SUPPORT_DIR}/lsan.supp:print_suppressions=0"
         "UBSAN_OPTIONS=print_stacktrace=1")
    # Up to GCC 13 and Clang 16 the runtime takes some thread-local blocks of a library that was
    # loaded later, as MPI's plugins are, for blocks with a header of glibc before 2.25, and the
    # search for leaks then now and then crashes ("Tracer caught signal 11").
    # What is more than any memory is refused, as by the system, and does not end the program.
    set(asan_options intercept_tls_get_addr=0:allocator_may_return_null=1)
    if(NOT property_SHORT_STACKS)
      string(APPEND asan_options ":fast_unwind_on_malloc=0")
    endif()
    list(APPEND environment "ASAN_OPTIONS=${asan_options}")
  endif()
  set_tests_properties(
    ${test}
    PROPERTIES PROCESSORS "${property_PROCESSORS}"
               TIMEOUT "${timeout}"
               LABELS "${property_LABELS}"
               ENVIRONMENT "${environment};${arg_ENVIRONMENT}")
endfunction()

# valet_add_program_test(<name> <ranks> <program> [<argument>...]): runs a program that judges itself, such as an
# example, within 120 s. 0 ranks: without mpiexec. PRINTS <source> in place of arguments: it must also print what
# the first comment of its source says (ValetCheckPrinted.cmake).
function(valet_add_program_test name ranks program)
  set(arg_TIMEOUT 120)
  set(arg_ENVIRONMENT)
  set(judge "")
  if("${ARGV3}" STREQUAL "PRINTS")
    set(judge "${CMAKE_COMMAND}" "-DSOURCE=${ARGV4}" -P "${VALET_TEST_SCRIPT_DIR}/ValetCheckPrinted.cmake" --)
    set(ARGN "")
  endif()
  if(ranks EQUAL 0)
    add_test(NAME ${name} COMMAND ${program} ${ARGN})
    valet_set_test_properties(${name} PROCESSORS 1 LABELS serial example)
  else()
    add_test(NAME ${name} COMMAND ${judge} "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG} ${ranks}
                                  ${VALET_MPIEXEC_FLAGS} $<TARGET_FILE:${program}> ${ARGN})
    valet_set_test_properties(${name} PROCESSORS 2 LABELS mpi example)
  endif()
endfunction()

# valet_add_compile_failure_test(NAME <name> SOURCE <file> [LIBRARIES <target>...] MESSAGE <regex>)
#
# Passes if <file> does not compile with VALET_MUST_NOT_COMPILE defined and the compiler's output
# matches <regex>. A file that has `#ifdef VALET_MUST_NOT_COMPILE` around the mistake is also
# compiled without it by the normal build: that proves the mistake, and nothing else, is refused.
function(valet_add_compile_failure_test)
  if(VALET_SANITIZE)
    return() # nothing runs here
  endif()
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;SOURCE;MESSAGE" "LIBRARIES")
  if(NOT arg_NAME OR NOT arg_SOURCE OR NOT arg_MESSAGE OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "valet_add_compile_failure_test: NAME, SOURCE and MESSAGE are needed")
  endif()
  set(bad must_not_compile_${arg_NAME})
  add_library(${bad} OBJECT EXCLUDE_FROM_ALL ${arg_SOURCE})
  target_compile_definitions(${bad} PRIVATE VALET_MUST_NOT_COMPILE)
  set(targets ${bad})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${arg_SOURCE}")
  file(STRINGS "${arg_SOURCE}" guarded REGEX "VALET_MUST_NOT_COMPILE")
  if(guarded)
    add_library(compiles_${arg_NAME} OBJECT ${arg_SOURCE})
    list(APPEND targets compiles_${arg_NAME})
  endif()
  foreach(target IN LISTS targets)
    valet_configure_target(${target})
    target_link_libraries(${target} PRIVATE Valet::valet ${arg_LIBRARIES})
  endforeach()

  add_test(
    NAME ${arg_NAME}
    COMMAND "${CMAKE_COMMAND}" -DBUILD_DIR=${CMAKE_BINARY_DIR} -DCONFIG=$<CONFIG> -DTARGET=${bad}
            -DMESSAGE=${arg_MESSAGE} -P "${VALET_TEST_SCRIPT_DIR}/ValetCompileFailure.cmake")
  # The lock: two builds in one build tree at a time disturb each other.
  set_tests_properties(${arg_NAME} PROPERTIES LABELS "serial;compile" TIMEOUT 120 RESOURCE_LOCK
                                              valet_build_tree)
endfunction()

# valet_add_internal_library(<target>): <target>_internal, a static library of the objects <target>
# is made of, so that tests reach symbols the shared library hides. Nothing is compiled twice. A
# static library hides nothing and is taken itself.
function(valet_add_internal_library target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    add_library(${target}_internal ALIAS ${target})
    return()
  endif()
  add_library(${target}_internal STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${target}>)
  set_target_properties(${target}_internal PROPERTIES LINKER_LANGUAGE CXX)
  foreach(property IN ITEMS LINK_LIBRARIES INCLUDE_DIRECTORIES COMPILE_DEFINITIONS COMPILE_FEATURES)
    set_property(TARGET ${target}_internal PROPERTY INTERFACE_${property}
                                                    $<TARGET_PROPERTY:${target},INTERFACE_${property}>)
  endforeach()
endfunction()

# SPDX-License-Identifier: BSD-3-Clause

# valet_configure_target(<target>): sets language level, warnings, visibility, assertions and sanitizers
# for every library, program and test of Valet. Only the C++20 requirement propagates to consumers.
function(valet_configure_target target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    target_compile_features(${target} INTERFACE cxx_std_20)
    return()
  endif()

  if(type STREQUAL "EXECUTABLE")
    target_compile_features(${target} PRIVATE cxx_std_20)
  else()
    target_compile_features(${target} PUBLIC cxx_std_20)
  endif()
  set_target_properties(
    ${target}
    PROPERTIES CXX_EXTENSIONS OFF
               C_STANDARD 11
               C_STANDARD_REQUIRED ON
               C_EXTENSIONS OFF
               CXX_VISIBILITY_PRESET hidden
               C_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               POSITION_INDEPENDENT_CODE ON)

  set(gnu_like "$<OR:$<CXX_COMPILER_ID:GNU>,$<CXX_COMPILER_ID:Clang>,$<CXX_COMPILER_ID:AppleClang>>")
  target_compile_options(
    ${target} PRIVATE "$<${gnu_like}:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wshadow>"
                      "$<$<AND:${gnu_like},$<BOOL:${VALET_WARNINGS_AS_ERRORS}>>:-Werror>")
  # Sources that are included in one are taken for headers, and GCC 12 wrongly reports copies beyond a string where it
  # has compiled others before (such as GCC bug 105329). tests/run.sh --long builds without.
  if(VALET_QUICK_BUILD)
    set(misjudged -Wno-subobject-linkage -Wno-array-bounds -Wno-restrict -Wno-stringop-overread -Wno-stringop-overflow)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:${misjudged}>")
  endif()
  if(VALET_ENABLE_ASSERTIONS)
    target_compile_definitions(${target} PRIVATE VALET_ASSERTIONS)
  endif()
  if(VALET_SANITIZE)
    set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=undefined)
    target_compile_options(${target} PRIVATE ${sanitizers} -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE ${sanitizers})
    # GCC 12 wrongly reports uninitialised values in instrumented code (GCC bug 105616).
    target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>")
  endif()
endfunction()

# valet_precompile_headers(<target> [ALWAYS] <header>...): with VALET_QUICK_BUILD or ALWAYS, parses these
# headers and those of the standard library that most sources include only once, which takes a quarter off the time
# to build the library. A source that misses an include still compiles, so tests/run.sh --long is without.
function(valet_precompile_headers target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ALWAYS" "" "")
  if((VALET_QUICK_BUILD OR arg_ALWAYS) AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    target_precompile_headers(
      ${target} PRIVATE <algorithm> <array> <cstdint> <functional> <limits> <memory> <optional> <span> <string>
      <utility> <vector> ${arg_UNPARSED_ARGUMENTS})
  endif()
endfunction()

# valet_quick_options(<variable>): options for what is compiled once and run once, where compiling is most of the time.
# With -O3 templates take twice as long to compile. nvcc knows no -Og, and xxHash 0.8.3 needs to be told of it: GCC
# then does not inline what always has to be.
function(valet_quick_options variable)
  set(level -Og -DXXH_NO_INLINE_HINTS=1)
  if("${CMAKE_CXX_COMPILER};${Kokkos_DEVICES}" MATCHES "nvcc|CUDA")
    set(level -O1)
  endif()
  set(${variable} "$<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU,Clang,AppleClang>>:${level}>" PARENT_SCOPE)
endfunction()

# valet_compile_quickly(<file>...): sources of this folder that read a command line or print, for which no user waits.
# Precompiled headers are for -O3.
function(valet_compile_quickly)
  valet_quick_options(options)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${options}" SKIP_PRECOMPILE_HEADERS ON)
endfunction()

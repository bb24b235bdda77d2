# SPDX-License-Identifier: BSD-3-Clause

# valet_enable_zoltan(<target>)
#
# Puts Valet behind Zoltan_Migrate in a program that uses Zoltan; MIGRATE_METHOD then selects the method.
# With a shared Zoltan, Valet precedes Zoltan on the link line; this function ensures the order. With a
# static Zoltan, with which Valet must have been built, it uses the linker's --wrap, which reaches all
# functions except Zoltan_Help_Migrate. Provided by find_package(Valet COMPONENTS zoltan).
#
# Libraries are linked as files, so a C program needs neither the dependencies of the C++ interface nor
# C++ among the languages of its project, which may include Valet with add_subdirectory().
function(valet_enable_zoltan target)
  if(NOT TARGET "${target}" OR ARGC GREATER 1)
    message(FATAL_ERROR "valet_enable_zoltan(<target>): '${target}' is no target, or there is more")
  endif()
  valet_zoltan_functions(functions)
  get_target_property(type Valet::zoltan TYPE)
  get_target_property(wrapped Valet::zoltan VALET_WRAPS_ZOLTAN)
  set(fronts Valet::zoltan)
  if(wrapped)
    list(TRANSFORM functions PREPEND "LINKER:--wrap=Zoltan_")
    target_link_options(${target} PRIVATE ${functions})
    list(PREPEND fronts Valet::zoltan_wrap)
  elseif(type STREQUAL "STATIC_LIBRARY")
    # Needed even if only another library of the program calls Zoltan.
    target_link_options(${target} PRIVATE "LINKER:-u,Zoltan_Migrate")
  endif()
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND fronts Valet::valet)
    get_target_property(runtime Valet::zoltan VALET_RUNTIME_LIBRARIES)
  else()
    set(runtime "")
  endif()

  set(first "")
  foreach(front IN LISTS fronts)
    list(APPEND first "$<TARGET_LINKER_FILE:${front}>")
    get_target_property(imported ${front} IMPORTED)
    if(NOT imported)
      add_dependencies(${target} ${front})
    endif()
  endforeach()
  if(type STREQUAL "SHARED_LIBRARY")
    set(first "-Wl,--push-state,--no-as-needed" ${first} "-Wl,--pop-state")
  endif()
  get_target_property(libraries ${target} LINK_LIBRARIES)
  if(NOT libraries)
    set(libraries "")
  endif()
  set_property(TARGET ${target} PROPERTY LINK_LIBRARIES ${first} ${libraries} ${runtime})
  target_include_directories(
    ${target} PRIVATE "$<TARGET_PROPERTY:Valet::zoltan,INTERFACE_INCLUDE_DIRECTORIES>"
                      "$<TARGET_PROPERTY:Valet::valet,INTERFACE_INCLUDE_DIRECTORIES>")
endfunction()

# valet_zoltan_functions(<variable>): the functions of Zoltan that Valet replaces, without Zoltan_.
function(valet_zoltan_functions variable)
  set(${variable} Migrate LB_Partition LB_Balance LB_Set_Part_Sizes Set_Param Set_Param_Vec Create Copy Copy_To Destroy PARENT_SCOPE)
endfunction()

# valet_zoltan_link_flags(<cflags> <libs>): the flags that do the same without CMake, for the installed
# libraries. They do not include the dependencies of a static Zoltan, which only the program knows.
function(valet_zoltan_link_flags cflags libs)
  get_target_property(type Valet::zoltan TYPE)
  get_target_property(wrapped Valet::zoltan VALET_WRAPS_ZOLTAN)
  set(flags -lvalet_zoltan)
  if(wrapped)
    valet_zoltan_functions(functions)
    list(TRANSFORM functions PREPEND "-Wl,--wrap=Zoltan_")
    set(flags ${functions} -lvalet_zoltan_wrap -lvalet_zoltan)
  elseif(type STREQUAL "STATIC_LIBRARY")
    list(PREPEND flags -Wl,-u,Zoltan_Migrate)
  else()
    set(flags -Wl,--push-state,--no-as-needed -lvalet_zoltan -Wl,--pop-state)
  endif()
  valet_zoltan_libraries(libraries)
  list(JOIN flags " " flags)
  list(JOIN libraries " " libraries)
  set(${libs} "${flags} ${libraries}" PARENT_SCOPE)

  get_target_property(directories Zoltan::zoltan INTERFACE_INCLUDE_DIRECTORIES)
  list(FILTER directories EXCLUDE REGEX "NOTFOUND$|\\$<")
  list(TRANSFORM directories PREPEND "-I")
  list(JOIN directories " " directories)
  set(${cflags} "${directories}" PARENT_SCOPE)
endfunction()

# valet_zoltan_is_static(<variable>): whether the library behind Zoltan::zoltan is an archive.
function(valet_zoltan_is_static variable)
  set(${variable} FALSE PARENT_SCOPE)
  valet_zoltan_libraries(libraries)
  if(libraries MATCHES "\\.a(;|$)")
    set(${variable} TRUE PARENT_SCOPE)
  endif()
endfunction()

# valet_zoltan_libraries(<variable>): the Zoltan libraries behind Zoltan::zoltan, as files if these are
# known.
function(valet_zoltan_libraries variable)
  set(files "")
  set(todo Zoltan::zoltan)
  while(todo)
    list(POP_FRONT todo library)
    if(NOT TARGET ${library})
      list(APPEND files "${library}")
      continue()
    endif()
    get_target_property(type ${library} TYPE)
    get_target_property(imported ${library} IMPORTED)
    if(type STREQUAL "INTERFACE_LIBRARY")
      get_target_property(links ${library} INTERFACE_LINK_LIBRARIES)
      list(FILTER links INCLUDE REGEX "[Zz]oltan")
      list(APPEND todo ${links})
    elseif(imported)
      get_target_property(location ${library} LOCATION)
      list(APPEND files "${location}")
    elseif(type STREQUAL "STATIC_LIBRARY")
      list(APPEND files "lib${library}.a")
    endif()
  endwhile()
  set(${variable} "${files}" PARENT_SCOPE)
endfunction()

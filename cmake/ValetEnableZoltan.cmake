# SPDX-License-Identifier: BSD-3-Clause

# valet_enable_zoltan(<target>)
#
# Puts Valet behind Zoltan_Migrate in a program that uses Zoltan; MIGRATE_METHOD then decides.
# In front of a shared Zoltan by the order on the link line, which this function sees to. For a static
# Zoltan, against which Valet must have been built, by the linker's --wrap: that reaches all but
# Zoltan_Help_Migrate. Installed, so that find_package(Valet COMPONENTS zoltan) provides it.
#
# All is linked by file, so that a program in C needs nothing of what the C++ interface links, nor C++
# among the languages of its project, which may include Valet with add_subdirectory().
function(valet_enable_zoltan target)
  if(NOT TARGET "${target}" OR ARGC GREATER 1)
    message(FATAL_ERROR "valet_enable_zoltan(<target>): '${target}' is no target, or there is more")
  endif()
  set(functions Migrate Set_Param Set_Param_Vec Create Copy Copy_To Destroy)
  get_target_property(type Valet::zoltan TYPE)
  get_target_property(wrapped Valet::zoltan VALET_WRAPS_ZOLTAN)
  set(fronts Valet::zoltan)
  if(wrapped)
    list(TRANSFORM functions PREPEND "LINKER:--wrap=Zoltan_")
    target_link_options(${target} PRIVATE ${functions})
    list(PREPEND fronts Valet::zoltan_wrap)
  elseif(type STREQUAL "STATIC_LIBRARY")
    # Wanted even where only another library of the program calls Zoltan.
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

# valet_zoltan_is_static(<variable>): whether the library behind Zoltan::zoltan is an archive.
function(valet_zoltan_is_static variable)
  set(${variable} FALSE PARENT_SCOPE)
  set(todo Zoltan::zoltan)
  while(todo)
    list(POP_FRONT todo library)
    if(TARGET ${library})
      get_target_property(type ${library} TYPE)
      if(type STREQUAL "STATIC_LIBRARY")
        set(${variable} TRUE PARENT_SCOPE)
      elseif(type STREQUAL "INTERFACE_LIBRARY")
        get_target_property(links ${library} INTERFACE_LINK_LIBRARIES)
        foreach(link IN LISTS links)
          if(link MATCHES "zoltan")
            list(APPEND todo "${link}")
          endif()
        endforeach()
      endif()
    elseif(library MATCHES "zoltan[^/]*\\.a$")
      set(${variable} TRUE PARENT_SCOPE)
    endif()
  endwhile()
endfunction()

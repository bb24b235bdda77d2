# SPDX-License-Identifier: BSD-3-Clause

# valet_enable_zoltan(<target>)
#
# Puts Valet behind Zoltan_Migrate in a program that uses Zoltan; MIGRATE_METHOD then decides.
# In front of a shared Zoltan by the order on the link line, which this function sees to. For a static
# Zoltan, against which Valet must have been built, by the linker's --wrap: that reaches all but
# Zoltan_Help_Migrate. Installed, so that find_package(Valet COMPONENTS zoltan) provides it.
function(valet_enable_zoltan target)
  if(NOT TARGET "${target}" OR ARGC GREATER 1)
    message(FATAL_ERROR "valet_enable_zoltan(<target>): '${target}' is no target, or there is more")
  endif()
  valet_zoltan_is_static(static)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  if(NOT libraries)
    set(libraries "")
  endif()
  if(static)
    set(fronts "")
    foreach(name IN ITEMS Migrate Set_Param Set_Param_Vec Create Copy Copy_To Destroy)
      list(APPEND fronts "LINKER:--wrap=Zoltan_${name}")
    endforeach()
    target_link_options(${target} PRIVATE ${fronts})
    set(first Valet::zoltan_wrap)
  else()
    # By file, so that a C program needs nothing of what the C++ interface links; and wanted even
    # where only another library of the program calls Zoltan.
    set(first "-Wl,--push-state,--no-as-needed" "$<TARGET_LINKER_FILE:Valet::zoltan>"
              "-Wl,--pop-state")
    get_target_property(imported Valet::zoltan IMPORTED)
    if(NOT imported)
      add_dependencies(${target} Valet::zoltan)
    endif()
  endif()
  set_property(TARGET ${target} PROPERTY LINK_LIBRARIES ${first} ${libraries})
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

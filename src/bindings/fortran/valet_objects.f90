! SPDX-License-Identifier: BSD-3-Clause

!> Objects that only the application can reach, such as cells of a tree, for Fortran: the functions
!! of objects.h under their C names. Used with the module `valet`.
module valet_objects
  use, intrinsic :: iso_c_binding, only: c_funptr, c_int, c_int64_t, c_ptr, c_size_t, c_sizeof
  use valet, only: Valet_Options, Valet_Report
  implicit none
  private

  !> c_funloc of functions with bind(C), whose arguments are described in objects.h: start from
  !! Valet_Object_functions_default(). Objects count from 0; `left` may stay c_null_funptr.
  type, bind(C), public :: Valet_Object_functions
    integer(c_size_t) :: struct_size
    type(c_funptr) :: size
    type(c_funptr) :: pack
    type(c_funptr) :: unpack
    type(c_funptr) :: left
  end type

  public :: Valet_Object_functions_default, Valet_Object_functions_init, Valet_Migrate_objects

  interface
    !> Called by Valet_Object_functions_default().
    subroutine Valet_Object_functions_init(functions, struct_size) &
        bind(C, name="Valet_Object_functions_init")
      import :: c_size_t, Valet_Object_functions
      type(Valet_Object_functions) :: functions
      integer(c_size_t), value :: struct_size
    end subroutine

    !> Moves object k to ranks(k + 1); each function receives `data`.
    integer(c_int) function Valet_Migrate_objects(communicator, count, ranks, functions, data, &
        options, report) bind(C, name="Valet_Migrate_objects_f")
      import :: c_int, c_int64_t, c_ptr, Valet_Object_functions, Valet_Options, Valet_Report
      integer(c_int), value :: communicator
      integer(c_int64_t), value :: count
      integer(c_int), intent(in) :: ranks(*)
      type(Valet_Object_functions), intent(in) :: functions
      type(c_ptr), value :: data
      type(Valet_Options), optional :: options
      type(Valet_Report), intent(inout), optional :: report
    end function
  end interface

contains

  !> An empty set of functions, to be filled in.
  function Valet_Object_functions_default() result(functions)
    type(Valet_Object_functions) :: functions
    call Valet_Object_functions_init(functions, c_sizeof(functions))
  end function

end module valet_objects

! SPDX-License-Identifier: BSD-3-Clause

!> Blocks in memory that only the application can move, such as device memory, for Fortran: the
!! functions of custom.h under their C names. Used with the module `valet`.
module valet_custom
  use, intrinsic :: iso_c_binding, only: c_funptr, c_int64_t, c_ptr, c_size_t, c_sizeof
  implicit none
  private

  !> c_funloc of functions with bind(C), whose arguments are described in custom.h, or c_null_funptr
  !! if not needed: start from Valet_Custom_functions_default(). `pack` may leave padding unwritten:
  !! with verify it is cleared first, and what is written past the blocks is an error of all ranks.
  type, bind(C), public :: Valet_Custom_functions
    integer(c_size_t) :: struct_size
    type(c_funptr) :: pack
    type(c_funptr) :: unpack
    type(c_funptr) :: copy
    type(c_funptr) :: allocate_scratch
    type(c_funptr) :: free_scratch
    type(c_funptr) :: synchronize
    type(c_ptr) :: mpi_data
  end type

  public :: Valet_Custom_functions_default, Valet_Custom_functions_init, &
    Valet_Storage_create_custom

  interface
    !> Called by Valet_Custom_functions_default().
    subroutine Valet_Custom_functions_init(functions, struct_size) &
        bind(C, name="Valet_Custom_functions_init")
      import :: c_size_t, Valet_Custom_functions
      type(Valet_Custom_functions) :: functions
      integer(c_size_t), value :: struct_size
    end subroutine

    !> A storage whose blocks are moved by functions, each of which receives `data`; to be freed
    !! with Valet_Storage_free() of `valet`.
    type(c_ptr) function Valet_Storage_create_custom(slots, block_bytes, functions, data) &
        bind(C, name="Valet_Storage_create_custom")
      import :: c_int64_t, c_ptr, c_size_t, Valet_Custom_functions
      integer(c_int64_t), value :: slots
      integer(c_size_t), value :: block_bytes
      type(Valet_Custom_functions), intent(in) :: functions
      type(c_ptr), value :: data
    end function
  end interface

contains

  !> An empty set of functions, to be filled in.
  function Valet_Custom_functions_default() result(functions)
    type(Valet_Custom_functions) :: functions
    call Valet_Custom_functions_init(functions, c_sizeof(functions))
  end function

end module valet_custom

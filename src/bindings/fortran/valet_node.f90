! SPDX-License-Identifier: BSD-3-Clause

!> Memory that the ranks of a node share, for Fortran: the functions of node_array.h under their C
!! names. Used with the module `valet`. c_f_pointer() makes an array of it, anew after
!! Valet_Node_resize().
module valet_node
  use, intrinsic :: iso_c_binding, only: c_int, c_ptr, c_size_t
  implicit none
  private

  public :: Valet_Node_alloc, Valet_Node_resize, Valet_Node_free

  interface
    integer(c_int) function Valet_Node_alloc(communicator, bytes, memory) &
        bind(C, name="Valet_Node_alloc_f")
      import :: c_int, c_ptr, c_size_t
      integer(c_int), value :: communicator
      integer(c_size_t), value :: bytes
      type(c_ptr), intent(inout) :: memory
    end function

    integer(c_int) function Valet_Node_resize(memory, bytes) bind(C, name="Valet_Node_resize")
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: memory
      integer(c_size_t), value :: bytes
    end function

    integer(c_int) function Valet_Node_free(memory) bind(C, name="Valet_Node_free")
      import :: c_int, c_ptr
      type(c_ptr), value :: memory
    end function
  end interface

end module valet_node

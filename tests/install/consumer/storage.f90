! SPDX-License-Identifier: BSD-3-Clause

!> 1 where the library behind the module answers.
integer(c_int) function fortran_answers() bind(C)
  use, intrinsic :: iso_c_binding
  use valet
  implicit none
  type(c_ptr) :: storage

  storage = Valet_Storage_create()
  fortran_answers = merge(1_c_int, 0_c_int, c_associated(storage))
  call Valet_Storage_free(storage)
end function

! SPDX-License-Identifier: BSD-3-Clause

!> 1 where the library behind the modules answers.
integer(c_int) function fortran_answers() bind(C)
  use, intrinsic :: iso_c_binding
  use valet
  use valet_ragged
  implicit none
  type(c_ptr) :: storage, ragged

  storage = Valet_Storage_create()
  ragged = Valet_Ragged_storage_create()
  fortran_answers = merge(1_c_int, 0_c_int, c_associated(storage) .and. c_associated(ragged))
  call Valet_Storage_free(storage)
  call Valet_Ragged_storage_free(ragged)
end function

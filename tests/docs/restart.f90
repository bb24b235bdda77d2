! SPDX-License-Identifier: BSD-3-Clause

! The snippets in Fortran of the page about another number of ranks.

subroutine restart(comm, particles, count) bind(C, name='fortran_restarted')
  use, intrinsic :: iso_c_binding
  use valet
  use valet_junction
  implicit none
  integer(c_int), value :: comm
  type(c_ptr), value :: particles
  integer(c_int64_t), value :: count
  character(*), parameter :: path = 'state.valet'
  type(c_ptr) :: file
  integer(c_int) :: code

  code = Valet_Junction_create(comm, path, junction=file)
  if (code /= VALET_SUCCESS) print '(a)', Valet_Error_message()
  code = Valet_Junction_put_blocks(file, particles, count, c_null_ptr, 'particles')
  code = Valet_Junction_close(file)

  code = Valet_Junction_open(comm, path, junction=file)
  code = Valet_Junction_get_blocks(file, particles, 'particles')
  code = Valet_Junction_close(file)
end subroutine

subroutine resize(comm, particles, count) bind(C, name='fortran_resized')
  use, intrinsic :: iso_c_binding
  use valet
  implicit none
  integer(c_int), value :: comm
  type(c_ptr), value :: particles
  integer(c_int64_t), intent(inout) :: count
  integer(c_int) :: code

  code = Valet_Resize(comm, particles, count, 2, 1, VALET_BALANCE_COUNT, &
    released=c_null_funptr, data=c_null_ptr)
  if (code /= VALET_SUCCESS) print '(a)', Valet_Error_message()
end subroutine

subroutine resize_lists(comm, lists, count) bind(C, name='fortran_resized_lists')
  use, intrinsic :: iso_c_binding
  use valet
  use valet_ragged
  implicit none
  integer(c_int), value :: comm
  type(c_ptr), value :: lists
  integer(c_int64_t), intent(inout) :: count
  integer(c_int) :: code

  code = Valet_Ragged_resize(comm, lists, count, 2, 1, VALET_BALANCE_COUNT)
  if (code /= VALET_SUCCESS) print '(a)', Valet_Error_message()
end subroutine

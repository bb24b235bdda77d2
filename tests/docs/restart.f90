! SPDX-License-Identifier: BSD-3-Clause

! The snippet in Fortran of the page about another number of ranks.

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
  code = Valet_Junction_put_blocks(file, particles, count, c_null_ptr)
  code = Valet_Junction_close(file)

  code = Valet_Junction_open(comm, path, junction=file)
  code = Valet_Junction_get_blocks(file, particles)
  code = Valet_Junction_close(file)
end subroutine

! SPDX-License-Identifier: BSD-3-Clause

! The snippets of the guide in Fortran, word for word; reference_fortran_test.cpp runs them.
subroutine move_lists(comm, values, value_count, lengths, most, count, ranks) &
    bind(C, name='fortran_moved_lists')
  use, intrinsic :: iso_c_binding
  use valet
  use valet_ragged
  implicit none
  integer(c_int), value :: comm
  integer(c_int64_t), value :: value_count, most
  real(c_double), intent(inout), target :: values(value_count)
  integer(c_int64_t), intent(inout), target :: lengths(most)
  integer(c_int64_t), intent(inout) :: count
  integer(c_int), intent(in) :: ranks(count)
  type(c_ptr) :: storage
  integer(c_int) :: code

  storage = Valet_Ragged_storage_create()
  code = Valet_Ragged_storage_add_field(storage, c_loc(values), 8*size(values, kind=c_int64_t), &
    c_loc(lengths), size(lengths, kind=c_int64_t), 8_c_size_t, 'values')
  code = Valet_Ragged_migrate(comm, storage, count, ranks)
  if (code /= VALET_SUCCESS) print '(a)', Valet_Error_message()
  call Valet_Ragged_storage_free(storage)
end subroutine

subroutine move_in_node_memory(comm, slots, required, ranks, total) &
    bind(C, name='fortran_moved_in_node_memory')
  use, intrinsic :: iso_c_binding
  use valet
  use valet_node
  implicit none
  integer(c_int), value :: comm
  integer(c_int64_t), value :: slots, required
  integer(c_int), intent(in) :: ranks(slots)
  real(c_double), intent(inout) :: total
  type(c_ptr) :: memory, storage, plan
  real(c_double), pointer :: x(:, :)
  integer(c_int) :: code

  storage = Valet_Storage_create()

  ! Memory that ranks of the node share: it grows where it is.
  code = Valet_Node_alloc(comm, 24*slots, memory)
  if (code /= VALET_SUCCESS) print '(a)', Valet_Error_message()
  call c_f_pointer(memory, x, [3_c_int64_t, slots])
  code = Valet_Storage_add_field(storage, memory, slots, 24_c_size_t, 24_c_ptrdiff_t, 'x')

  x = total
  code = Valet_Plan_to_ranks(comm, storage, slots, c_null_ptr, ranks, plan=plan)
  if (code == VALET_SUCCESS) code = Valet_Execute(plan, storage)
  call Valet_Plan_free(plan)

  code = Valet_Node_resize(memory, 24*required)
  call c_f_pointer(memory, x, [3_c_int64_t, required])

  total = sum(x)

  code = Valet_Node_free(memory)

  call Valet_Storage_free(storage)
end subroutine

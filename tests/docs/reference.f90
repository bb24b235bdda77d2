! SPDX-License-Identifier: BSD-3-Clause

! The snippets of the group Fortran of the API reference, word for word; reference_fortran_test.cpp
! runs them.
subroutine call_others(comm, storage, slots, count, buffer, elements, size, send_counts, ranks, &
    addresses) bind(C, name='fortran_other_calls')
  use, intrinsic :: iso_c_binding
  use valet
  implicit none
  integer(c_int), value :: comm, size
  type(c_ptr), value :: storage
  integer(c_int64_t), value :: slots, count, elements
  real(c_double), intent(inout), target :: buffer(elements)
  integer(c_int64_t), intent(in) :: send_counts(size)
  integer(c_int), intent(inout) :: ranks(count)
  type(Valet_Address), intent(in) :: addresses(count)
  type(c_ptr) :: plan, deal
  type(Valet_Options) :: options
  type(Valet_Report) :: report, total
  integer(c_int64_t) :: changed, changed_in_all
  integer(c_int) :: code

  ! Options and reports.
  options = Valet_Options_default()
  options%budget_bytes = 2**20
  report = Valet_Report_default()
  code = Valet_Alltoallv_in_place(comm, c_loc(buffer), 8_c_size_t*elements, send_counts, &
    element_bytes=8_c_size_t, any_order=0, options=options, report=report)
  total = Valet_Report_default()
  code = Valet_Summed_over_ranks(comm, report, total)
  print '(a)', Valet_Report_to_string(total), Valet_Report_to_json(total)
  print '(a)', 'by ' // Valet_String(total%method)

  ! For a bug report: how the library was built, and its MPI.
  print '(a)', 'Valet ' // Valet_Version(), Valet_Configuration_to_string()
  print '(a)', Valet_Configuration_to_json()

  ! A map that asks ranks for more slots than they have, corrected.
  code = Valet_Repair(comm, count, c_null_ptr, ranks, slots, changed, changed_in_all)

  ! Objects, numbered through over the ranks, dealt to them in turn; then a rank and a slot each.
  code = Valet_Plan_to_layout(comm, storage, count, to=Valet_Object_layout(block_size=1), plan=deal)
  if (Valet_Plan_required_slots(deal) <= slots) code = Valet_Execute(deal, storage)
  code = Valet_Plan_to_slots(comm, storage, count, c_null_ptr, addresses, options, plan)
  code = Valet_Execute(plan, storage)

  call Valet_Plan_free(deal)
  call Valet_Plan_free(plan)
end subroutine

subroutine redistribute(comm, size, n, a, room) bind(C, name='fortran_redistributed')
  use, intrinsic :: iso_c_binding
  use valet
  implicit none
  integer(c_int), value :: comm, size
  integer(c_int64_t), value :: n
  real(c_double), intent(inout), target :: a(n*n), room(n*n)
  integer(c_int64_t), target :: extents(2), one_column(2), squares(2)
  integer(c_int), target :: grid(2)
  type(Valet_Layout) :: columns, blocks
  type(Valet_Array) :: matrix, copy
  integer(c_int) :: code

  ! A matrix from columns to blocks of 16 x 16, inside its own memory; then a copy in columns.
  extents = [n, n]
  one_column = [n, 1_c_int64_t]
  squares = [16, 16]
  grid = [1, size]
  columns = Valet_Layout(2, c_loc(extents), c_loc(one_column), c_loc(grid))
  blocks = Valet_Layout(2, c_loc(extents), c_loc(squares), c_loc(grid))
  matrix = Valet_Array(c_loc(a), 8*n*n)
  copy = Valet_Array(c_loc(room), 8*n*n)
  code = Valet_Redistribute_in_place(comm, columns, blocks, 8_c_size_t, matrix)
  code = Valet_Redistribute(comm, blocks, columns, 8_c_size_t, matrix, copy)
end subroutine

subroutine intersect(rank, ranks, n, runs) bind(C, name='fortran_shared')
  use, intrinsic :: iso_c_binding
  use valet
  use valet_intersection
  implicit none
  integer(c_int), value :: rank, ranks
  integer(c_int64_t), value :: n
  integer(c_int64_t), intent(out) :: runs(0:ranks - 1)
  integer(c_int64_t), target :: extents(2), one_column(2), squares(2)
  integer(c_int), target :: grid(2)
  type(Valet_Layout) :: columns, blocks
  type(Valet_Index_family) :: families(100)
  type(Valet_Index_families) :: found
  integer(c_int) :: code, peer
  extents = [n, n]
  one_column = [n, 1_c_int64_t]
  squares = [16, 16]
  grid = [1, ranks]
  columns = Valet_Layout(2, c_loc(extents), c_loc(one_column), c_loc(grid))
  blocks = Valet_Layout(2, c_loc(extents), c_loc(squares), c_loc(grid))

  ! The families that a rank shares with all others along the second dimension, in blocks of 16.
  code = Valet_Intersect(columns, rank, blocks, VALET_ALL_PEERS, 1, VALET_INTERSECTION_ASPEN, &
    families, size(families, kind=c_int64_t), found)
  if (code /= VALET_SUCCESS) print '(a)', Valet_Error_message()
  do peer = 0, ranks - 1
    runs(peer) = sum(families(:found%families)%count, families(:found%families)%peer == peer)
  end do
end subroutine

subroutine move_rows(comm, entries, capacity, offsets, id, most, count, ranks) &
    bind(C, name='fortran_moved_rows')
  use, intrinsic :: iso_c_binding
  use valet
  use valet_ragged
  implicit none
  integer(c_int), value :: comm
  integer(c_int64_t), value :: capacity, most
  real(c_double), intent(inout), target :: entries(capacity/8)
  integer(c_int64_t), intent(inout), target :: offsets(most + 1)
  integer(c_int), intent(inout), target :: id(most)
  integer(c_int64_t), intent(inout) :: count
  integer(c_int), intent(in) :: ranks(count)
  type(c_ptr) :: storage, plan
  integer(c_int64_t) :: bytes, blocks
  integer(c_int) :: code

  ! Compressed rows: offsets in bytes, one more than rows, and a number for each row.
  storage = Valet_Ragged_storage_create()
  code = Valet_Ragged_storage_add_field_by_offsets(storage, c_loc(entries), capacity, &
    c_loc(offsets), most, 8_c_size_t, 'rows')
  code = Valet_Ragged_storage_add_column(storage, c_loc(id), most, 4_c_size_t, 'id')
  code = Valet_Ragged_plan_to_ranks(comm, storage, count, ranks, plan=plan)
  bytes = Valet_Ragged_plan_required_bytes(plan, 0_c_size_t)
  blocks = Valet_Ragged_plan_blocks_after(plan)
  ! Arrays grow now, or by a function that a rank calls which has too little room:
  ! Valet_Ragged_storage_grow_by(storage, c_funloc(enlarge), c_null_ptr), as Valet_Storage_grow_by.
  ! A layer above says by Valet_Ragged_storage_refuse or Valet_Storage_refuse what it finds wrong.
  ! Rows in any strides are for Valet_Storage_add_array. After a field is added, its rows may be put
  ! elsewhere: Valet_Storage_in_tiles, Valet_Storage_in_segments, Valet_Storage_by_pointers;
  ! Valet_Group then puts blocks into the segments that they belong to.
  if (bytes > capacity .or. blocks > most) print '(a)', 'grow the arrays, and make a new storage'
  code = Valet_Ragged_execute(plan, storage, ranks)
  if (code == VALET_SUCCESS) count = blocks
  call Valet_Ragged_plan_free(plan)

  call Valet_Ragged_storage_free(storage)
end subroutine

module listener
  use, intrinsic :: iso_c_binding
  use valet
  implicit none
  integer(c_int) :: messages = 0
contains

  subroutine to_log(level, message, data) bind(C)
    integer(c_int), value :: level
    character(kind=c_char), intent(in) :: message(*)  ! up to c_null_char
    type(c_ptr), value :: data
    if (level >= VALET_LOG_INFO) messages = messages + 1
  end subroutine

end module

subroutine make_custom(slots, pack, unpack, queue, device) bind(C, name='fortran_custom')
  use, intrinsic :: iso_c_binding
  use valet
  use valet_custom
  use listener
  implicit none
  integer(c_int64_t), value :: slots
  type(c_funptr), value :: pack, unpack
  type(c_ptr), value :: queue
  type(c_ptr), intent(out) :: device
  type(Valet_Custom_functions) :: functions

  ! Memory that only functions of the application reach: c_funloc of functions with bind(C).
  functions = Valet_Custom_functions_default()
  functions%pack = pack
  functions%unpack = unpack
  device = Valet_Storage_create_custom(slots, 4_c_size_t, functions, queue)

  ! Messages go where those of the application go.
  call Valet_Set_log_callback(c_funloc(to_log), c_null_ptr)
end subroutine

subroutine move_objects(comm, count, ranks, size_of, pack, unpack, left, tree) &
    bind(C, name='fortran_moved_objects')
  use, intrinsic :: iso_c_binding
  use valet
  use valet_objects
  implicit none
  integer(c_int), value :: comm
  integer(c_int64_t), value :: count
  integer(c_int), intent(in) :: ranks(count)
  type(c_funptr), value :: size_of, pack, unpack, left
  type(c_ptr), value :: tree
  type(Valet_Object_functions) :: functions
  integer(c_int) :: code

  ! Objects that only functions of the application reach: c_funloc of functions with bind(C).
  functions = Valet_Object_functions_default()
  functions%size = size_of
  functions%pack = pack
  functions%unpack = unpack
  functions%left = left
  code = Valet_Migrate_objects(comm, count, ranks, functions, tree)
  if (code /= VALET_SUCCESS) print '(a)', Valet_Error_message()
end subroutine

function heard_messages() bind(C, name='fortran_heard') result(heard)
  use listener
  implicit none
  integer(c_int) :: heard
  call Valet_Set_log_callback(c_null_funptr, c_null_ptr)
  heard = messages
end function

subroutine push_particles(comm, rank, position, count, ranks, steps) bind(C, name='fortran_pushed')
  use, intrinsic :: iso_c_binding
  use valet
  use valet_execution
  implicit none
  integer(c_int), value :: comm, rank, count, steps
  real(c_double), intent(inout), target :: position(count)
  integer(c_int), intent(in) :: ranks(count)
  type(c_ptr) :: storage, plan, execution
  type(Valet_Report) :: report
  integer(c_int) :: code, done
  integer :: step, k
  report = Valet_Report_default()
  storage = Valet_Storage_create()
  code = Valet_Storage_add_field(storage, c_loc(position), int(count, c_int64_t), 8_c_size_t, &
    8_c_ptrdiff_t, 'x')
  code = Valet_Plan_to_ranks(comm, storage, int(count, c_int64_t), c_null_ptr, ranks, plan=plan)

  ! The same blocks in each step: they travel while the others are pushed.
  code = Valet_Plan_bind(plan, storage)
  do step = 1, steps
    code = Valet_Execution_start_bound(plan, execution)
    do k = 1, count
      if (ranks(k) == rank) position(k) = position(k) + 1
      code = Valet_Execution_progress(execution, done)
    end do
    code = Valet_Execution_wait(execution)
  end do

  ! In one piece, or with a storage that may be another one each time.
  code = Valet_Execute_bound(plan)
  code = Valet_Execution_start(plan, storage, execution)
  code = Valet_Execution_wait(execution, report)

  call Valet_Plan_free(plan)
  call Valet_Storage_free(storage)
end subroutine

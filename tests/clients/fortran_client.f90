! SPDX-License-Identifier: BSD-3-Clause

! Uses the Fortran module as an application would: a ring shift to ranks and to slots, an error
! that every rank must get, objects behind functions, memory of the node, an all-to-all with each method, and a matrix
! between layouts. Stops with an error unless all of it is right.
program fortran_client
  use, intrinsic :: iso_c_binding
  use mpi
  use valet
  use valet_node
  use valet_objects
  implicit none

  type Cell
    integer(c_int8_t), allocatable :: values(:)
  end type
  integer, parameter :: slots = 100
  integer :: rank, ranks, ierror
  integer :: failures = 0
  integer, target :: messages = 0
  integer(c_int64_t) :: blocks_done = -1
  type(Cell), save :: cells(0:2*slots)
  integer :: last_cell = 0

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call check_maps()
  call check_objects()
  call check_node_memory()
  call check_what_is_seen()
  call check_alltoall(VALET_ALLTOALL_AUTOMATIC)
  call check_alltoall(VALET_ALLTOALL_STREAM)
  call check_alltoall(VALET_ALLTOALL_SWAPS)
  call check_alltoall(VALET_ALLTOALL_BITONIC)
  call check_alltoall(VALET_ALLTOALL_PAIRWISE)
  call check_repair()
  call check_layouts()
  call check_errors()
  call check_configuration()
  call MPI_Finalize(ierror)
  if (failures > 0) error stop 1

contains

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (condition) return
    print '(4a)', 'fortran_client: ', what, ': ', Valet_Error_message()
    failures = failures + 1
  end subroutine

  subroutine fill(values)
    real(c_double), intent(out) :: values(3, slots)
    integer :: s
    do s = 1, slots
      values(:, s) = [1000*rank + s, s, -rank]
    end do
  end subroutine

  subroutine check_maps()
    real(c_double), target :: values(3, slots)
    integer(c_int) :: destinations(slots)
    type(Valet_Address) :: addresses(slots)
    type(c_ptr) :: storage, plan
    type(Valet_Options) :: options
    type(Valet_Report) :: report, total
    type(Valet_Layout), target :: rows
    integer(c_int64_t), target :: extents(2), blocks(2)
    integer(c_int), target :: grid(2)
    integer :: s, from
    from = modulo(rank - 1, ranks)
    storage = Valet_Storage_create()
    call require(Valet_Storage_add_field(storage, c_loc(values), int(slots, c_int64_t), &
      24_c_size_t, 24_c_ptrdiff_t, 'values') == VALET_SUCCESS, 'a field')
    destinations = modulo(rank + 1, ranks)
    do s = 1, slots
      addresses(s) = Valet_Address(destinations(s), slots - s)
    end do

    options = Valet_Options_default()
    report = Valet_Report_default()
    call require(options%struct_size == c_sizeof(options), 'the size of the options')
    call require(options%budget_bytes == 4*1024*1024, 'the default budget')
    options%order = VALET_ORDER_STABLE
    call fill(values)
    call require(Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, int(slots, c_int64_t), c_null_ptr, &
      destinations, options, plan) == VALET_SUCCESS, 'a plan to ranks')
    call require(Valet_Plan_blocks_after(plan) == slots, 'the blocks afterwards')
    call require(Valet_Plan_required_slots(plan) == slots, 'the slots required')
    call require(Valet_Execute(plan, storage, report) == VALET_SUCCESS, 'an execution')
    call require(report%blocks_after == slots, 'the report')
    call require(report%peak_extra_bytes <= report%extra_bytes_bound, 'the memory')
    call require(report%block_bytes == 24 .and. report%budget_bytes == options%budget_bytes, &
      'the bytes of the report')
    call require(len(Valet_String(report%method)) > 0, 'the method of the report')
    call require(index(Valet_String(report%reason), 'stream brings') == 1, 'the reason of the choice')
    call require(all(nint(values(1, :)) == [(1000*from + s, s=1, slots)]), 'blocks moved to ranks')
    total = Valet_Report_default()
    call require(Valet_Summed_over_ranks(MPI_COMM_WORLD, report, total) == VALET_SUCCESS, 'a sum')
    call require(total%ranks == ranks .and. total%blocks_after == ranks*slots, 'the summed report')
    call require(index(Valet_Report_to_json(total), '"block_bytes":24,') > 0, 'the JSON')
    call require(index(Valet_Report_to_string(total), Valet_String(total%method)) == 1, 'the text')
    call Valet_Plan_free(plan)

    call fill(values)
    call require(Valet_Plan_to_slots(MPI_COMM_WORLD, storage, int(slots, c_int64_t), c_null_ptr, &
      addresses, plan=plan) == VALET_SUCCESS, 'a plan to slots')
    call require(Valet_Execute(plan, storage) == VALET_SUCCESS, 'an execution to slots')
    call require(all(nint(values(1, :)) == [(1000*from + s, s=slots, 1, -1)]), &
      'blocks moved to slots')
    call Valet_Plan_free(plan)

    ! All blocks in a row are dealt to the ranks one by one, and go back.
    call fill(values)
    call require(Valet_Plan_to_layout(MPI_COMM_WORLD, storage, int(slots, c_int64_t), &
      to=Valet_Object_layout(block_size=1), plan=plan) == VALET_SUCCESS, 'a plan to a layout')
    call require(Valet_Execute(plan, storage) == VALET_SUCCESS, 'an execution to a layout')
    do s = 0, slots - 1
      call require(nint(values(1, s + 1)) == 1000*((s*ranks + rank)/slots) &
        + mod(s*ranks + rank, slots) + 1, 'blocks moved to a layout')
    end do
    call Valet_Plan_free(plan)
    call require(Valet_Plan_to_layout(MPI_COMM_WORLD, storage, int(slots, c_int64_t), &
      Valet_Object_layout(block_size=1), Valet_Object_layout(), plan=plan) == VALET_SUCCESS, &
      'a plan from a layout')
    call require(Valet_Execute(plan, storage) == VALET_SUCCESS, 'an execution from a layout')
    call require(all(nint(values(1, :)) == [(1000*rank + s, s=1, slots)]), 'blocks moved back')
    call Valet_Plan_free(plan)

    ! A row of a matrix for each rank, whose elements are numbered as Fortran has them.
    extents = [int(ranks, c_int64_t), int(slots, c_int64_t)]
    blocks = [1_c_int64_t, int(slots, c_int64_t)]
    grid = [ranks, 1]
    rows = Valet_Layout(2, c_loc(extents), c_loc(blocks), c_loc(grid))
    call require(Valet_Plan_to_layout(MPI_COMM_WORLD, storage, int(slots, c_int64_t), &
      to=Valet_Object_layout(tiling=c_loc(rows)), plan=plan) == VALET_SUCCESS, 'a plan to tiles')
    call require(Valet_Execute(plan, storage) == VALET_SUCCESS, 'an execution to tiles')
    do s = 0, slots - 1
      call require(nint(values(1, s + 1)) == 1000*((s*ranks + rank)/slots) &
        + mod(s*ranks + rank, slots) + 1, 'blocks moved to tiles')
    end do
    call Valet_Plan_free(plan)
    call Valet_Storage_free(storage)
  end subroutine

  ! Cells of 0 bytes and more, all to the next rank; one that tells no size is an error of all.
  subroutine check_objects()
    type(Valet_Object_functions) :: functions
    integer(c_int) :: destinations(slots)
    integer :: i, k
    functions = Valet_Object_functions_default()
    functions%size = c_funloc(cell_size)
    functions%pack = c_funloc(pack_cell)
    functions%unpack = c_funloc(unpack_cell)
    functions%left = c_funloc(cell_left)
    last_cell = slots - 1
    do k = 0, last_cell
      cells(k)%values = [(int(rank, c_int8_t), i=1, k)]
    end do
    destinations = modulo(rank + 1, ranks)
    call require(Valet_Migrate_objects(MPI_COMM_WORLD, int(slots, c_int64_t), destinations, &
      functions, merge(c_null_ptr, c_loc(messages), ranks > 1 .and. rank == 0)) == &
      merge(VALET_CALLBACK_FAILED, VALET_SUCCESS, ranks > 1), 'a cell without a size')
    call require(Valet_Migrate_objects(MPI_COMM_WORLD, int(slots, c_int64_t), destinations, &
      functions, c_loc(messages)) == VALET_SUCCESS, 'moving objects')
    call require(last_cell == merge(2, 1, ranks > 1)*slots - 1, 'the number of objects')
    do k = 0, slots - 1
      call require(allocated(cells(k)%values) .eqv. ranks == 1, 'an object that has left')
      if (ranks > 1) call require(size(cells(slots + k)%values) == k .and. &
        all(cells(slots + k)%values == modulo(rank - 1, ranks)), 'an object that has arrived')
    end do
  end subroutine

  ! Blocks that go round in memory of the node, which grows before.
  subroutine check_node_memory()
    integer(c_size_t), parameter :: bytes = 24*slots
    type(c_ptr) :: memory, storage, plan
    real(c_double), pointer :: x(:, :)
    real(c_double) :: expected(3, slots)
    integer(c_int) :: destinations(slots)
    memory = c_null_ptr
    call require(Valet_Node_alloc(MPI_COMM_WORLD, bytes, memory) == VALET_SUCCESS, 'node memory')
    call c_f_pointer(memory, x, [3, slots])
    call require(all(x == 0), 'node memory is not zero')
    call fill(x)
    call require(Valet_Node_resize(memory, 2*bytes) == VALET_SUCCESS, 'more node memory')
    call c_f_pointer(memory, x, [3, 2*slots])
    expected = x(:, :slots)
    call require(all(x(:, slots + 1:) == 0), 'new node memory is not zero')
    storage = Valet_Storage_create()
    call require(Valet_Storage_add_field(storage, memory, 2_c_int64_t*slots, 24_c_size_t, &
      24_c_ptrdiff_t, 'x') == VALET_SUCCESS, 'a field of node memory')
    destinations = modulo(rank + 1, ranks)
    call require(Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, int(slots, c_int64_t), c_null_ptr, &
      destinations, plan=plan) == VALET_SUCCESS, 'a plan in node memory')
    call require(Valet_Execute(plan, storage) == VALET_SUCCESS, 'execution in node memory')
    expected(1, :) = expected(1, :) + 1000*(modulo(rank - 1, ranks) - rank)
    expected(3, :) = -modulo(rank - 1, ranks)
    call require(sum(x(:, :2*slots)) == sum(expected), 'blocks in node memory')
    call Valet_Plan_free(plan)
    call Valet_Storage_free(storage)
    call require(Valet_Node_free(memory) == VALET_SUCCESS, 'freeing node memory')
    call require(Valet_Node_free(memory) == VALET_INVALID_ARGUMENT, 'freeing node memory twice')
  end subroutine

  integer(c_int) function cell_size(data, object, bytes) bind(C)
    type(c_ptr), value :: data
    integer(c_int64_t), value :: object
    integer(c_int64_t), intent(out) :: bytes
    bytes = size(cells(object)%values)
    cell_size = merge(0, 1, c_associated(data))
  end function

  integer(c_int) function pack_cell(data, object, packed, bytes) bind(C)
    type(c_ptr), value :: data
    integer(c_int64_t), value :: object, bytes
    integer(c_int8_t), intent(out) :: packed(bytes)
    packed = cells(object)%values
    pack_cell = merge(0, 1, c_associated(data))
  end function

  integer(c_int) function unpack_cell(data, source, packed, bytes) bind(C)
    type(c_ptr), value :: data
    integer(c_int), value :: source
    integer(c_int64_t), value :: bytes
    integer(c_int8_t), intent(in) :: packed(bytes)
    last_cell = last_cell + 1
    cells(last_cell)%values = packed
    unpack_cell = merge(0, 1, c_associated(data) .and. all(packed == source))
  end function

  integer(c_int) function cell_left(data, object) bind(C)
    type(c_ptr), value :: data
    integer(c_int64_t), value :: object
    deallocate(cells(object)%values)
    cell_left = merge(0, 1, c_associated(data))
  end function

  ! All blocks want to be on rank 0, which has room for half of its own.
  subroutine check_repair()
    integer(c_int) :: destinations(slots)
    integer(c_int64_t) :: changed, changed_in_all
    destinations = 0
    changed_in_all = -1
    if (ranks == 1) then
      call require(Valet_Repair(MPI_COMM_WORLD, int(slots, c_int64_t), c_null_ptr, destinations, &
        int(slots/2, c_int64_t)) == VALET_INFEASIBLE, 'a repair that there is not')
      return
    end if
    call require(Valet_Repair(MPI_COMM_WORLD, int(slots, c_int64_t), c_null_ptr, destinations, &
      int(merge(slots/2, 2*slots, rank == 0), c_int64_t), changed, changed_in_all) == &
      VALET_SUCCESS, 'a repair')
    call require(changed == count(destinations /= 0), 'what a repair changed here')
    call require(changed_in_all == ranks*slots - slots/2, 'what a repair changed in all')
  end subroutine

  subroutine hear_progress(progress, data) bind(C)
    type(Valet_Progress), intent(in) :: progress
    type(c_ptr), value :: data
    if (c_associated(data)) blocks_done = progress%blocks_done
  end subroutine

  subroutine hear_log(level, message, data) bind(C)
    integer(c_int), value :: level
    character(kind=c_char), intent(in) :: message(*)
    type(c_ptr), value :: data
    if (level == VALET_LOG_WARNING .and. message(1) == 'c' .and. .not. c_associated(data)) &
      messages = messages + 1
  end subroutine

  ! A trace that cannot be written is a warning of rank 0, and the blocks move all the same.
  subroutine check_what_is_seen()
    real(c_double), target :: values(3, slots)
    integer(c_int) :: destinations(slots)
    character(kind=c_char, len=32), target :: path
    type(c_ptr) :: storage, plan
    type(Valet_Options) :: options
    type(Valet_Report) :: report
    integer :: ignored
    storage = Valet_Storage_create()
    ignored = Valet_Storage_add_field(storage, c_loc(values), int(slots, c_int64_t), &
      24_c_size_t, 24_c_ptrdiff_t, 'values' // c_null_char)
    destinations = modulo(rank + 1, ranks)
    path = '/nowhere/trace.json' // c_null_char
    options = Valet_Options_default()
    call require(.not. c_associated(options%trace), 'no trace')
    call require(options%progress_bar == 1, 'a bar')
    options%trace = c_loc(path)
    report = Valet_Report_default()
    options%progress = c_funloc(hear_progress)
    options%progress_data = storage
    call Valet_Set_log_callback(c_funloc(hear_log), c_null_ptr)
    call fill(values)
    call require(Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, int(slots, c_int64_t), c_null_ptr, &
      destinations, options, plan) == VALET_SUCCESS, 'a plan that is watched')
    call require(Valet_Execute(plan, storage, report) == VALET_SUCCESS, 'a watched execution')
    call require(blocks_done == merge(2*slots, 0, ranks > 1), 'the progress')
    call require(messages == merge(1, 0, rank == 0), 'the warning')
    call require(report%waiting_seconds <= report%exchange_seconds, 'the time spent waiting')
    call Valet_Set_log_callback(c_null_funptr, c_null_ptr)
    call Valet_Plan_free(plan)
    call Valet_Storage_free(storage)
  end subroutine

  ! Rank i sends j + 1 numbers to rank j; they name both. Room for what `bitonic` holds for a time.
  subroutine check_alltoall(method)
    integer(c_int), intent(in) :: method
    integer(c_int64_t) :: send_counts(0:ranks - 1), recv_counts(0:ranks - 1)
    integer(c_int), target :: numbers(ranks*(ranks + 1))
    type(Valet_Options) :: options
    type(Valet_Report) :: report
    integer :: j, k
    send_counts = [(j + 1, j=0, ranks - 1)]
    recv_counts = rank + 1
    options = Valet_Options_default()
    options%alltoall_method = method
    report = Valet_Report_default()
    numbers(:sum(send_counts)) = [((1000*rank + j, k=0, j), j=0, ranks - 1)]
    call require(Valet_Alltoallv_in_place(MPI_COMM_WORLD, c_loc(numbers), &
      size(numbers, kind=c_size_t)*4, send_counts, recv_counts, 4_c_size_t, 0_c_int, options, &
      report) == VALET_SUCCESS, 'an all-to-all')
    call require(report%blocks_after == sum(recv_counts), 'the elements of an all-to-all')
    call require(all(numbers(:sum(recv_counts)) == &
      [((1000*j + rank, k=0, rank), j=0, ranks - 1)]), 'the order of an all-to-all')
  end subroutine

  ! The matrix a(i, j) = 100*i + j, i and j from 0, columns over the ranks in blocks of two,
  ! is handed to the last rank as a whole, then distributed by rows inside its memory.
  subroutine check_layouts()
    integer, parameter :: rows = 7, columns = 11
    integer(c_int64_t), target :: extents(2) = [rows, columns], pairs(2) = [rows, 2]
    integer(c_int64_t), target :: whole(2) = [rows, columns], single_rows(2) = [1, columns]
    integer(c_int), target :: over_columns(2), over_rows(2), one(2) = [1, 1], last(1)
    integer(c_int), target :: source(rows, columns), matrix(rows*columns)
    type(Valet_Layout) :: by_columns, on_last, by_rows
    type(Valet_Array) :: from, to
    type(Valet_Report) :: report
    integer :: i, j, mine
    report = Valet_Report_default()
    over_columns = [1, ranks]
    over_rows = [ranks, 1]
    last = ranks - 1
    by_columns = Valet_Layout(2, c_loc(extents), c_loc(pairs), c_loc(over_columns))
    on_last = Valet_Layout(2, c_loc(extents), c_loc(whole), c_loc(one), ranks=c_loc(last))
    by_rows = Valet_Layout(2, c_loc(extents), c_loc(single_rows), c_loc(over_rows))
    mine = 0
    do j = 0, columns - 1
      if (modulo(j/2, ranks) /= rank) cycle
      mine = mine + 1
      source(:, mine) = [(100*i + j, i=0, rows - 1)]
    end do
    matrix = -1
    from = Valet_Array(c_loc(source), int(4*rows*mine, c_size_t))
    to = Valet_Array(c_loc(matrix), int(4*rows*columns, c_size_t))
    if (rank == ranks - 1) then
      call require(Valet_Redistribute(MPI_COMM_WORLD, by_columns, on_last, 4_c_size_t, from, to, &
        report=report) == VALET_SUCCESS, 'a redistribution')
      call require(all(matrix == [((100*i + j, i=0, rows - 1), j=0, columns - 1)]), 'the matrix')
    else
      call require(Valet_Redistribute(MPI_COMM_WORLD, by_columns, on_last, 4_c_size_t, from, &
        report=report) == VALET_SUCCESS, 'a redistribution')
      call require(all(matrix == -1), 'nothing for this rank')
    end if
    call require(report%blocks_before == rows*mine, 'the elements of a redistribution')
    call require(Valet_Redistribute_in_place(MPI_COMM_WORLD, on_last, by_rows, 4_c_size_t, to, &
      report=report) == VALET_SUCCESS, 'a redistribution in place')
    mine = size([(i, i=rank, rows - 1, ranks)])
    call require(report%blocks_after == mine*columns, 'the elements in place')
    call require(all(matrix(:mine*columns) == &
      [((100*i + j, i=rank, rows - 1, ranks), j=0, columns - 1)]), 'the rows of the matrix')

    ! Wrong on one rank alone.
    if (rank == 0) single_rows(1) = 0
    call require(Valet_Redistribute_in_place(MPI_COMM_WORLD, by_columns, by_rows, 4_c_size_t, to) &
      == VALET_INVALID_ARGUMENT, 'a block size of zero is refused on all ranks')
    call require(index(Valet_Error_message(), 'rank 0: block-cyclic layout: block size 0 in dim') > 0, &
      'the text about a block size')
  end subroutine

  subroutine check_errors()
    integer(c_int64_t) :: send_counts(0:ranks - 1)
    integer(c_int), target :: numbers(ranks)
    send_counts = 1
    if (rank == ranks - 1) send_counts(0) = -3
    numbers = rank
    call require(Valet_Alltoallv_in_place(MPI_COMM_WORLD, c_loc(numbers), &
      size(numbers, kind=c_size_t)*4, send_counts, element_bytes=4_c_size_t, any_order=0_c_int) &
      == VALET_INVALID_ARGUMENT, 'a negative count is refused')
    call require(index(Valet_Error_message(), 'send_counts[0] is -3') > 0, 'the text of the error')
    call require(all(numbers == rank), 'the data after an error')
    call require(Valet_Repair(MPI_COMM_WORLD, merge(-2_c_int64_t, 1_c_int64_t, rank == ranks - 1), &
      c_null_ptr, numbers, 1_c_int64_t) == VALET_INVALID_ARGUMENT, 'a negative number of blocks')
    call require(index(Valet_Error_message(), 'count is -2; give 0 or more') > 0, 'the text about it')
  end subroutine

  subroutine check_configuration()
    character(:), allocatable :: json
    call require(index(Valet_Configuration_to_string(), &
      'valet: ' // Valet_Version() // new_line('a') // 'mpi_compiled: ') == 1, 'the configuration')
    json = Valet_Configuration_to_json()
    call require(index(json, '{"valet":"' // Valet_Version() // '","mpi_compiled":"') == 1 .and. &
      json(len(json) - 1:) == '"}', 'the configuration in JSON')
  end subroutine

end program

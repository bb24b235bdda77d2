! SPDX-License-Identifier: BSD-3-Clause

! Arrays of Fortran that functions enlarge where a rank gets more blocks than they have rows, blocks
! of different sizes among them, blocks that are dropped, and rows in tiles. Stops with an error
! unless all of it is right.
module fortran_growth_arrays
  use, intrinsic :: iso_c_binding
  use valet
  use valet_ragged
  use valet_segments
  implicit none
  integer(c_int), allocatable, target :: values(:)
  real(c_double), allocatable, target :: entries(:)
  integer(c_int64_t), allocatable, target :: lengths(:)
  type(c_ptr) :: storage = c_null_ptr, lists = c_null_ptr
  integer :: calls = 0

contains

  ! Makes the storage of the values, as many as they are now.
  subroutine describe()
    integer(c_int) :: code
    if (c_associated(storage)) call Valet_Storage_free(storage)
    storage = Valet_Storage_create()
    code = Valet_Storage_add_field(storage, c_loc(values), size(values, kind=c_int64_t), &
      4_c_size_t, 4_c_ptrdiff_t, 'value')
    code = Valet_Storage_grow_by(storage, c_funloc(enlarge), c_null_ptr)
  end subroutine

  type(c_ptr) function enlarge(data, slots) bind(C)
    type(c_ptr), value :: data
    integer(c_int64_t), value :: slots
    integer(c_int), allocatable, target :: larger(:)
    allocate (larger(slots))
    larger(:size(values)) = values
    call move_alloc(larger, values)
    call describe()
    calls = calls + 1
    enlarge = merge(c_null_ptr, storage, c_associated(data))
  end function

  subroutine describe_lists()
    integer(c_int) :: code
    if (c_associated(lists)) call Valet_Ragged_storage_free(lists)
    lists = Valet_Ragged_storage_create()
    code = Valet_Ragged_storage_add_field(lists, c_loc(entries), 8*size(entries, kind=c_int64_t), &
      c_loc(lengths), size(lengths, kind=c_int64_t), 8_c_size_t, 'list')
    code = Valet_Ragged_storage_grow_by(lists, c_funloc(enlarge_lists), c_null_ptr)
  end subroutine

  type(c_ptr) function enlarge_lists(data, blocks, bytes) bind(C)
    type(c_ptr), value :: data
    integer(c_int64_t), value :: blocks
    integer(c_int64_t), intent(in) :: bytes(*)
    real(c_double), allocatable, target :: larger(:)
    integer(c_int64_t), allocatable, target :: more(:)
    allocate (larger(bytes(1)/8), more(blocks))
    larger(:size(entries)) = entries
    more(:size(lengths)) = lengths
    call move_alloc(larger, entries)
    call move_alloc(more, lengths)
    call describe_lists()
    enlarge_lists = merge(c_null_ptr, lists, c_associated(data))
  end function
end module

program fortran_growth
  use mpi
  use fortran_growth_arrays
  implicit none
  integer, parameter :: n = 5
  integer :: rank, ranks, ierror, k, failures = 0
  integer(c_int) :: to(n)
  integer(c_int64_t) :: count
  type(c_ptr) :: plan
  type(Valet_Options) :: options
  type(Valet_Report) :: report

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)

  ! All to the last rank.
  values = [(10*rank + k, k=1, n)]
  to = ranks - 1
  call describe()
  call require(Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, int(n, c_int64_t), c_null_ptr, to, &
    plan=plan) == VALET_SUCCESS, 'a plan')
  call require(Valet_Execute(plan, storage) == VALET_SUCCESS, 'an execution that grows')
  call Valet_Plan_free(plan)
  if (rank == ranks - 1) then
    call require(size(values) == n*ranks, 'the slots')
    call require(sum(values) == n*ranks*(5*(ranks - 1) + 3), 'the values')
  end if
  call require(calls == merge(1, 0, rank == ranks - 1 .and. ranks > 1), 'calls where it must')

  ! A list of rank + 1 entries from each rank.
  entries = [(real(rank + 1, c_double), k=0, rank)]
  lengths = [8_c_int64_t*(rank + 1)]
  call describe_lists()
  count = 1
  call require(Valet_Ragged_migrate(MPI_COMM_WORLD, lists, count, to(:1)) == VALET_SUCCESS, &
    'lists that grow')
  if (rank == ranks - 1) then
    call require(count == ranks .and. size(entries) == ranks*(ranks + 1)/2, 'their room')
    call require(nint(sum(entries)) == ranks*(ranks + 1)*(2*ranks + 1)/6, 'their entries')
  end if

  ! The second and the fourth block are dropped.
  values = [(10*rank + k, k=1, n)]
  call describe()
  to = [rank, -1, rank, -1, rank]
  options = Valet_Options_default()
  call require(options%negative_rank == VALET_NEGATIVE_RANK_REFUSE, 'the default')
  options%negative_rank = VALET_NEGATIVE_RANK_DROP
  options%order = VALET_ORDER_STABLE
  report = Valet_Report_default()
  call require(Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, int(n, c_int64_t), c_null_ptr, to, &
    options, plan) == VALET_SUCCESS, 'a plan that drops')
  call require(Valet_Execute(plan, storage, report) == VALET_SUCCESS, 'an execution that drops')
  call Valet_Plan_free(plan)
  call require(report%blocks_dropped == 2 .and. report%blocks_after == 3, 'the report')
  call require(all(values(:3) == [10*rank + 1, 10*rank + 3, 10*rank + 5]), 'those that are left')

  call check_tiles()
  call check_refused()
  call Valet_Storage_free(storage)
  call Valet_Ragged_storage_free(lists)
  call MPI_Finalize(ierror)
  if (failures > 0) error stop 1

contains

  ! A member in tiles of two slots, beside rows in two arrays, beside a pointer for each slot.
  subroutine check_tiles()
    integer(c_int), target :: tiles(2, 2, (n + 1)/2), head(2), tail(n - 2), nodes(n)
    type(c_ptr), target :: pointers(n)
    type(c_ptr) :: tiled
    integer(c_int64_t) :: held(2)
    integer :: from
    tiles = reshape([(0, k=1, size(tiles))], shape(tiles))
    do k = 1, n
      tiles(1 + modulo(k - 1, 2), 1, 1 + (k - 1)/2) = 10*rank + k
      nodes(k) = 10*rank + n + 1 - k
      pointers(k) = c_loc(nodes(n + 1 - k))
    end do
    head = [(10*rank + k, k=1, 2)]
    tail = [(10*rank + k, k=3, n)]
    tiled = Valet_Storage_create()
    call require(Valet_Storage_add_field(tiled, c_loc(tiles), int(n, c_int64_t), 4_c_size_t, &
      4_c_ptrdiff_t, 'tiles') == VALET_SUCCESS, 'a field')
    call require(Valet_Storage_in_tiles(tiled, 2_c_int64_t, 16_c_ptrdiff_t) == VALET_SUCCESS, &
      'tiles')
    call require(Valet_Storage_add_field(tiled, c_null_ptr, 0_c_int64_t, 4_c_size_t, &
      4_c_ptrdiff_t, 'arrays') == VALET_SUCCESS, 'a field')
    call require(Valet_Storage_in_segments(tiled, 2_c_size_t, [c_loc(head), c_loc(tail)], &
      [2_c_int64_t, int(n - 2, c_int64_t)]) == VALET_SUCCESS, 'two arrays')
    call require(Valet_Storage_add_field(tiled, c_null_ptr, int(n, c_int64_t), 4_c_size_t, &
      4_c_ptrdiff_t, 'nodes') == VALET_SUCCESS, 'a field')
    call require(Valet_Storage_by_pointers(tiled, pointers) == VALET_SUCCESS, 'pointers')
    to = modulo(rank + 1, ranks)
    options%order = VALET_ORDER_STABLE
    call require(Valet_Plan_to_ranks(MPI_COMM_WORLD, tiled, int(n, c_int64_t), c_null_ptr, to, &
      options, plan) == VALET_SUCCESS, 'a plan for tiles')
    call require(Valet_Execute(plan, tiled) == VALET_SUCCESS, 'tiles that move')
    call Valet_Plan_free(plan)
    from = 10*modulo(rank - 1, ranks)
    call require(all([(tiles(1 + modulo(k - 1, 2), 1, 1 + (k - 1)/2) == from + k, k=1, n)]) .and. &
      all([head, tail] == [(from + k, k=1, n)]) .and. &
      all(nodes == [(from + n + 1 - k, k=1, n)]), 'blocks in tiles, arrays and behind pointers')
    ! Every second block belongs to the array behind: three of five, so that one is put there.
    call require(Valet_Group(tiled, int(n, c_int64_t), c_null_ptr, [(modulo(k, 2), k=1, n)], &
      2_c_size_t, [2_c_int64_t, int(n - 2, c_int64_t)], blocks=held) == VALET_SUCCESS, 'groups')
    call require(all(held == [2, 3]) .and. all(modulo(head, 2) == 0) .and. &
      all(modulo(tail, 2) == 1), 'each in its array')
    call Valet_Storage_free(tiled)
  end subroutine

  ! Rows of two values that are n values apart; then the last rank refuses what it has.
  subroutine check_refused()
    integer(c_int), target :: pairs(n, 2)
    type(c_ptr) :: columns
    pairs = reshape([(10*rank + k, k=1, n), (10*rank - k, k=1, n)], [n, 2])
    columns = Valet_Storage_create()
    call require(Valet_Storage_add_array(columns, c_loc(pairs), int(n, c_int64_t), 4_c_ptrdiff_t, &
      4_c_size_t, [2_c_size_t], [int(4*n, c_ptrdiff_t)], 'pairs') == VALET_SUCCESS, 'columns')
    to = modulo(rank + 1, ranks)
    call require(Valet_Plan_to_ranks(MPI_COMM_WORLD, columns, int(n, c_int64_t), c_null_ptr, to, &
      plan=plan) == VALET_SUCCESS, 'a plan for columns')
    call require(Valet_Execute(plan, columns) == VALET_SUCCESS, 'columns that move')
    call Valet_Plan_free(plan)
    call require(all(pairs(:, 1) + pairs(:, 2) == 20*modulo(rank - 1, ranks)), 'pairs that agree')
    if (rank == ranks - 1) k = Valet_Storage_refuse(columns, 'not today')
    if (rank == ranks - 1) k = Valet_Ragged_storage_refuse(lists, 'no lists today')
    call require(Valet_Plan_to_ranks(MPI_COMM_WORLD, columns, int(n, c_int64_t), c_null_ptr, to, &
      plan=plan) == VALET_INVALID_ARGUMENT, 'a refusal')
    call require(index(Valet_Error_message(), 'not today') > 0, 'its text')
    count = 0
    call require(Valet_Ragged_migrate(MPI_COMM_WORLD, lists, count, to) == &
      VALET_INVALID_ARGUMENT, 'a refusal of lists')
    call require(index(Valet_Error_message(), 'no lists today') > 0, 'its text')
    call Valet_Storage_free(columns)
  end subroutine

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (condition) return
    print '(4a)', 'fortran_growth: ', what, ': ', Valet_Error_message()
    failures = failures + 1
  end subroutine
end program

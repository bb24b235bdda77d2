! SPDX-License-Identifier: BSD-3-Clause

! Two groups of ranks that pass arrays and blocks to each other from Fortran, as two applications
! would: in layouts that the other side does not know, and an error that every rank must get. Stops
! with an error unless all of it is right.
module fortran_junction_room
  use, intrinsic :: iso_c_binding
  use valet
  implicit none
  integer(c_int), allocatable, target :: values(:)
  type(c_ptr) :: storage = c_null_ptr

contains

  ! A storage for so many blocks.
  function room_for(data, blocks) bind(C) result(made)
    type(c_ptr), value :: data
    integer(c_int64_t), value :: blocks
    type(c_ptr) :: made
    integer(c_int) :: code
    if (allocated(values)) deallocate (values)
    allocate (values(max(1_c_int64_t, blocks)))
    if (c_associated(storage)) call Valet_Storage_free(storage)
    storage = Valet_Storage_create()
    code = Valet_Storage_add_field(storage, c_loc(values), blocks, 4_c_size_t, 4_c_ptrdiff_t, 'x')
    made = storage
    if (c_associated(data) .or. code /= VALET_SUCCESS) made = c_null_ptr
  end function
end module

program fortran_junction
  use, intrinsic :: iso_c_binding
  use mpi
  use valet
  use valet_junction
  use valet_ragged
  use fortran_junction_room
  implicit none

  integer, parameter :: n = 12, m = 10
  integer :: rank, ranks, ierror, first_ranks, own_rank, own_ranks, other_ranks, between
  integer :: failures = 0
  logical :: is_first
  type(c_ptr) :: junction

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  do first_ranks = 1, ranks - 1
    call check_sides()
  end do
  call check_file()
  call check_nothing()
  call MPI_Finalize(ierror)
  if (failures > 0) error stop 1

contains

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (condition) return
    print '(4a)', 'fortran_junction: ', what, ': ', Valet_Error_message()
    failures = failures + 1
  end subroutine

  ! The error that all ranks of both sides have.
  subroutine expect(code, wanted, text)
    integer(c_int), intent(in) :: code, wanted
    character(*), intent(in) :: text
    call require(code == wanted .and. index(Valet_Error_message(), text) > 0, text)
  end subroutine

  subroutine check_sides()
    type(Valet_Junction_options) :: options
    integer :: own, step
    is_first = rank < first_ranks
    call MPI_Comm_split(MPI_COMM_WORLD, merge(0, 1, is_first), 0, own, ierror)
    call MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, merge(first_ranks, 0, is_first), 7, between, &
      ierror)
    call MPI_Comm_rank(own, own_rank, ierror)
    call MPI_Comm_size(own, own_ranks, ierror)
    other_ranks = ranks - own_ranks
    options = Valet_Junction_options_default()
    call require(options%timeout_seconds == 600 .and. options%share_memory == 1, 'defaults')
    options%verify = 1
    junction = c_null_ptr
    call require(Valet_Junction_connect(between, 'test', options, junction) == VALET_SUCCESS, &
      'a junction')
    call MPI_Comm_free(between, ierror)
    call MPI_Comm_free(own, ierror)
    call require(Valet_Junction_ranks(junction) == own_ranks .and. &
      Valet_Junction_other_ranks(junction) == other_ranks, 'ranks')
    do step = 1, 2  ! there and back
      call check_array(is_first .eqv. step == 1)
      call check_blocks(is_first .eqv. step == 1)
      call check_numbered(is_first .eqv. step == 1)
      call check_ragged(is_first .eqv. step == 1)
    end do
    call require(Valet_Junction_close(junction) == VALET_SUCCESS, 'closing')
  end subroutine

  ! A matrix, in blocks of three rows on the first side and in single columns on the other; then
  ! with another label on each side.
  subroutine check_array(puts)
    logical, intent(in) :: puts
    real(c_double), allocatable, target :: part(:)
    real(c_double), allocatable :: expected(:)
    integer(c_int64_t), target :: extents(2), blocks(2)
    integer(c_int), target :: grid(2)
    type(Valet_Layout) :: layout
    type(Valet_Array) :: array
    type(Valet_Report) :: report
    type(c_ptr) :: transfer
    integer(c_int) :: done
    integer :: i, j
    logical :: is_mine
    extents = [n, m]
    blocks = merge([3, m], [n, 1], is_first)
    grid = merge([own_ranks, 1], [1, own_ranks], is_first)
    layout = Valet_Layout(2, c_loc(extents), c_loc(blocks), c_loc(grid))
    allocate (expected(0))
    do j = 0, m - 1
      do i = 0, n - 1
        is_mine = mod(merge(i/3, j, is_first), own_ranks) == own_rank
        if (is_mine) expected = [expected, 100d0*i + j]
      end do
    end do
    allocate (part(n*m), source=-1d0)
    if (puts) part(:size(expected)) = expected
    array = Valet_Array(c_loc(part), 8_c_size_t*n*m)
    report = Valet_Report_default()
    call require(move(puts, array, layout, 'matrix', transfer) == VALET_SUCCESS, 'an array')
    done = 0
    do while (done == 0)
      call require(Valet_Junction_is_ready(transfer, done) == VALET_SUCCESS, 'progress')
    end do
    call require(Valet_Junction_wait(transfer, report) == VALET_SUCCESS .and. &
      report%verified == 1, 'its end')
    call require(all(part(:size(expected)) == expected), 'an array that was got')
    call expect(move(puts, array, layout, trim(merge('density ', 'pressure', puts))), &
      VALET_INVALID_ARGUMENT, "one side of the junction puts 'density', the other gets 'pressure'")
    call require(all(part(:size(expected)) == expected), 'an array after an error')
  end subroutine

  integer(c_int) function move(puts, array, layout, label, transfer)
    logical, intent(in) :: puts
    type(Valet_Array) :: array
    type(Valet_Layout) :: layout
    character(*), intent(in) :: label
    type(c_ptr), intent(inout), optional :: transfer
    if (puts) then
      move = Valet_Junction_put_array(junction, array, layout, 8_c_size_t, label, transfer)
    else
      move = Valet_Junction_get_array(junction, array, layout, 8_c_size_t, label, transfer)
    end if
  end function

  ! Block k of each rank goes to rank k + r in turn: into room that is made, then into what is
  ! there.
  subroutine check_blocks(puts)
    logical, intent(in) :: puts
    integer(c_int), target :: owners(6)
    integer(c_int), allocatable :: expected(:)
    type(c_ptr) :: made, transfer
    type(Valet_Report) :: report
    integer :: from, k
    if (puts) then
      made = room_for(c_null_ptr, 6_c_int64_t)
      values = [(1000*own_rank + k, k=1, 6)]
      owners = [(mod(k + own_rank, other_ranks), k=1, 6)]
      expected = values
      call require(Valet_Junction_put_blocks(junction, storage, 6_c_int64_t, c_loc(owners)) == &
        VALET_SUCCESS, 'blocks')
      call require(Valet_Junction_put_blocks(junction, storage, 6_c_int64_t, c_loc(owners), &
        transfer=transfer) == VALET_SUCCESS, 'blocks with a handle')
      call require(Valet_Junction_wait(transfer) == VALET_SUCCESS, 'their end')
      call expect(Valet_Junction_put_blocks(junction, storage, 6_c_int64_t, c_loc(owners)), &
        VALET_CALLBACK_FAILED, 'it returned a null pointer')
    else
      expected = pack([((1000*from + k, k=1, 6), from=0, other_ranks - 1)], &
        [((mod(k + from, own_ranks) == own_rank, k=1, 6), from=0, other_ranks - 1)])
      call require(Valet_Junction_get_blocks_into(junction, c_funloc(room_for), c_null_ptr) == &
        VALET_SUCCESS, 'blocks into room for them')
      call require(all(values(:size(expected)) == expected), 'blocks that were got')
      values = 0
      report = Valet_Report_default()
      call require(Valet_Junction_get_blocks(junction, storage, transfer=transfer) == &
        VALET_SUCCESS, 'blocks that are got')
      call require(Valet_Junction_wait(transfer, report) == VALET_SUCCESS .and. &
        report%blocks_after == size(expected), 'their number')
      call expect(Valet_Junction_get_blocks_into(junction, c_funloc(room_for), c_loc(owners)), &
        VALET_CALLBACK_FAILED, 'it returned a null pointer')
      return
    end if
    call require(all(values(:size(expected)) == expected), 'blocks afterwards')
  end subroutine

  ! Dealt in pairs on one side, one by one on the other: 2 for each rank of the side that puts.
  subroutine check_numbered(puts)
    logical, intent(in) :: puts
    type(Valet_Object_layout) :: layout
    type(c_ptr) :: made
    integer :: k
    made = room_for(c_null_ptr, 64_c_int64_t)
    values = -1
    layout = Valet_Object_layout(block_size=merge(2, 1, puts))
    if (puts) then
      values(:2) = [2*own_rank, 2*own_rank + 1]
      call require(Valet_Junction_put_numbered(junction, storage, 2_c_int64_t, layout) == &
        VALET_SUCCESS, 'numbered blocks')
    else
      call require(Valet_Junction_get_numbered(junction, storage, layout) == VALET_SUCCESS, &
        'numbered blocks')
      do k = own_rank, 2*other_ranks - 1, own_ranks
        call require(values(k/own_ranks + 1) == k, 'a number')
      end do
    end if
  end subroutine

  ! A list of r + 1 values from rank r, first dealt by their numbers, then to rank 0.
  subroutine check_ragged(puts)
    logical, intent(in) :: puts
    real(c_double), target :: list(64)
    integer(c_int64_t), target :: lengths(16)
    integer(c_int), target :: owners(1)
    type(c_ptr) :: lists
    integer :: from, k
    list = own_rank
    lengths = 8*(own_rank + 1)
    owners = 0
    lists = Valet_Ragged_storage_create()
    call require(Valet_Ragged_storage_add_field(lists, c_loc(list), 512_c_int64_t, &
      c_loc(lengths), 16_c_int64_t, 8_c_size_t, 'list') == VALET_SUCCESS, 'an arena')
    if (puts) then
      call require(Valet_Junction_put_numbered_ragged(junction, lists, 1_c_int64_t, &
        Valet_Object_layout(block_size=1), 'dealt') == VALET_SUCCESS, 'a numbered list')
    else
      call require(Valet_Junction_get_numbered_ragged(junction, lists, &
        Valet_Object_layout(block_size=1), 'dealt') == VALET_SUCCESS, 'numbered lists')
      k = 0
      do from = own_rank, other_ranks - 1, own_ranks
        call require(lengths(from/own_ranks + 1) == 8*(from + 1) .and. &
          all(list(k + 1:k + from + 1) == from), 'a list by its number')
        k = k + from + 1
      end do
    end if
    if (puts) then
      call require(Valet_Junction_put_ragged(junction, lists, 1_c_int64_t, c_loc(owners)) == &
        VALET_SUCCESS, 'a list')
    else
      call require(Valet_Junction_get_ragged(junction, lists) == VALET_SUCCESS, 'lists')
      if (own_rank == 0) then
        call require(all(lengths(:other_ranks) == [(8*from, from=1, other_ranks)]), 'lengths')
        k = other_ranks*(other_ranks + 1)/2
        call require(sum(list(:k)) == sum([(from*(from + 1), from=0, other_ranks - 1)]), 'values')
      end if
    end if
    call Valet_Ragged_storage_free(lists)
  end subroutine

  subroutine check_nothing()
    call expect(Valet_Junction_close(c_null_ptr), VALET_INVALID_ARGUMENT, &
      'the junction is a null pointer')
    call expect(Valet_Junction_wait(c_null_ptr), VALET_INVALID_ARGUMENT, &
      'the transfer is a null pointer')
    junction = c_null_ptr
    call expect(Valet_Junction_accept(MPI_COMM_NULL, 'test', junction=junction), &
      VALET_INVALID_COMMUNICATOR, 'MPI_COMM_NULL')
    call require(.not. c_associated(junction), 'no junction')
    if (c_associated(storage)) call Valet_Storage_free(storage)
  end subroutine

  ! Blocks under two labels in one file: the second ones are got as equal shares, of the first ones
  ! all ranks get the last one.
  subroutine check_file()
    character(32) :: path
    type(c_ptr) :: made, file
    write (path, '(a, i0, a)') 'fortran_junction_', ranks, '.valet'
    made = room_for(c_null_ptr, 2_c_int64_t)
    call require(Valet_Junction_create(MPI_COMM_WORLD, path, junction=file) == VALET_SUCCESS, &
      'a file')
    values = [10*rank, 10*rank + 1]
    call require(Valet_Junction_put_blocks(file, storage, 2_c_int64_t, c_null_ptr, 'plus') == &
      VALET_SUCCESS, 'blocks in a file')
    values = -values
    call require(Valet_Junction_put_blocks(file, storage, 2_c_int64_t, c_null_ptr, 'minus') == &
      VALET_SUCCESS, 'other blocks in a file')
    call require(Valet_Junction_close(file) == VALET_SUCCESS, 'the end of a file')
    call require(Valet_Junction_open(MPI_COMM_WORLD, path, junction=file) == VALET_SUCCESS, &
      'the file')
    values = 1
    call require(Valet_Junction_get_blocks(file, storage, 'minus') == VALET_SUCCESS, 'a share')
    call require(all(values == [-10*rank, -10*rank - 1]), 'an equal share')
    call require(Valet_Junction_get_blocks(file, storage, 'plus', &
      Valet_Block_range(2*ranks - 1, 1)) == VALET_SUCCESS, 'a range')
    call require(values(1) == 10*ranks - 9, 'the last block')
    call require(Valet_Junction_close(file) == VALET_SUCCESS, 'the file closed')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    if (rank == 0) call execute_command_line('rm ' // path)
  end subroutine

end program

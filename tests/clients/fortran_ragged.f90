! SPDX-License-Identifier: BSD-3-Clause

! Blocks of different sizes from Fortran, as an application would use them: an arena with lengths,
! one with offsets and a column under one map, arenas that grow between plan and execution, and an
! error that every rank must get. Stops with an error unless all of it is right.
program fortran_ragged
  use, intrinsic :: iso_c_binding
  use mpi
  use valet
  use valet_ragged
  implicit none

  interface
    integer(c_int64_t) function oracle_blocks(all, counts, to, order, block_bytes, self, &
        from_ranks, from_slots) bind(C)
      import :: c_int, c_int64_t, c_size_t
      integer(c_int), value :: all, order, self
      integer(c_size_t), value :: block_bytes
      integer(c_int64_t), intent(in) :: counts(*)
      integer(c_int), intent(in) :: to(*)
      integer(c_int), intent(out) :: from_ranks(*)
      integer(c_int64_t), intent(out) :: from_slots(*)
    end function
  end interface

  integer :: rank, ranks, ierror
  integer :: failures = 0
  logical :: to_first = .false.

  real(c_double), allocatable, target :: values(:)
  integer(c_int64_t), allocatable, target :: lengths(:), offsets(:)
  integer(c_int), allocatable, target :: numbers(:), names(:)
  integer(c_int), allocatable :: destinations(:)

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call check_migrate()
  call check_growing()
  call check_errors()
  deallocate (values, lengths, offsets, numbers, names, destinations)
  call MPI_Finalize(ierror)
  if (failures > 0) error stop 1

contains

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (condition) return
    print '(4a)', 'fortran_ragged: ', what, ': ', Valet_Error_message()
    failures = failures + 1
  end subroutine

  ! The blocks that a rank has before, numbered from 0; rank 1 of many has none.
  pure integer function count_of(from)
    integer, intent(in) :: from
    count_of = merge(0, 30 + 5*from, ranks > 2 .and. from == 1)
  end function

  pure integer function destination_of(from, k)
    integer, intent(in) :: from, k
    destination_of = merge(from, modulo(k/2 + from, ranks), mod(k, 2) == 0)
    if (to_first) destination_of = 0
  end function

  ! Values of the first arena, and numbers of the second.
  elemental integer function values_of(name)
    integer, intent(in) :: name
    values_of = mod(name, 7)*3 + name/1000
  end function

  elemental integer function numbers_of(name)
    integer, intent(in) :: name
    numbers_of = mod(name, 5)
  end function

  ! The names of the blocks of this rank afterwards, by the oracle.
  function names_after() result(list)
    integer, allocatable :: list(:)
    integer(c_int64_t) :: counts(0:ranks - 1), from_slots(60*ranks)
    integer(c_int) :: from_ranks(60*ranks)
    integer :: from, k, count
    counts = [(count_of(from), from=0, ranks - 1)]
    count = int(oracle_blocks(ranks, counts, &
      [((destination_of(from, k), k=0, count_of(from) - 1), from=0, ranks - 1)], &
      VALET_ORDER_STABLE, 1_c_size_t, rank, from_ranks, from_slots))
    list = 1000*from_ranks(:count) + int(from_slots(:count))
  end function

  ! Fills arrays of the given sizes with the blocks of this rank, and names them to Valet.
  subroutine make(blocks, value_capacity, number_capacity, storage)
    integer, intent(in) :: blocks, value_capacity, number_capacity
    type(c_ptr), intent(out) :: storage
    integer :: k, v, name, value, number
    if (allocated(values)) deallocate (values, lengths, offsets, numbers, names, destinations)
    ! Not of size zero, of which there is no c_loc.
    allocate (values(max(1, value_capacity)), lengths(max(1, blocks)), offsets(blocks + 1), &
      numbers(max(1, number_capacity)), names(max(1, blocks)), destinations(count_of(rank)))
    value = 0
    number = 0
    offsets(1) = 0
    do k = 1, count_of(rank)
      name = 1000*rank + k - 1
      names(k) = name
      destinations(k) = destination_of(rank, k - 1)
      lengths(k) = 8*values_of(name)
      values(value + 1:value + values_of(name)) = [(name + 0.125d0*v, v=1, values_of(name))]
      value = value + values_of(name)
      numbers(number + 1:number + numbers_of(name)) = [(100*name + v, v=1, numbers_of(name))]
      number = number + numbers_of(name)
      offsets(k + 1) = 4*number
    end do
    storage = Valet_Ragged_storage_create()
    call require(Valet_Ragged_storage_add_field(storage, c_loc(values), &
      8_c_int64_t*value_capacity, c_loc(lengths), int(blocks, c_int64_t), 8_c_size_t, &
      'values') == VALET_SUCCESS, 'an arena with lengths')
    call require(Valet_Ragged_storage_add_field_by_offsets(storage, c_loc(numbers), &
      4_c_int64_t*number_capacity, c_loc(offsets), int(blocks, c_int64_t), 4_c_size_t, &
      'numbers') == VALET_SUCCESS, 'an arena with offsets')
    call require(Valet_Ragged_storage_add_column(storage, c_loc(names), int(blocks, c_int64_t), &
      4_c_size_t, 'names') == VALET_SUCCESS, 'a column')
  end subroutine

  subroutine check(list, what)
    integer, intent(in) :: list(:)
    character(*), intent(in) :: what
    integer :: k, v, name, value, number
    logical :: good
    value = 0
    number = 0
    good = all(names(:size(list)) == list) .and. offsets(1) == 0
    do k = 1, size(list)
      name = list(k)
      good = good .and. lengths(k) == 8*values_of(name) .and. &
        all(values(value + 1:value + values_of(name)) == [(name + 0.125d0*v, v=1, values_of(name))])
      value = value + values_of(name)
      good = good .and. &
        all(numbers(number + 1:number + numbers_of(name)) == [(100*name + v, v=1, numbers_of(name))])
      number = number + numbers_of(name)
      good = good .and. offsets(k + 1) == 4*number
    end do
    call require(good, what)
  end subroutine

  function names_before() result(list)
    integer, allocatable :: list(:)
    integer :: k
    list = [(1000*rank + k, k=0, count_of(rank) - 1)]
  end function

  ! Arrays that are exactly full, before or afterwards.
  subroutine make_full(storage)
    type(c_ptr), intent(out) :: storage
    integer, allocatable :: before(:), after(:)
    before = names_before()
    after = names_after()
    call make(max(size(before), size(after)), max(sum(values_of(before)), &
      sum(values_of(after))), max(sum(numbers_of(before)), sum(numbers_of(after))), storage)
  end subroutine

  subroutine check_migrate()
    type(c_ptr) :: storage
    type(Valet_Options) :: options
    type(Valet_Report) :: report
    integer(c_int64_t) :: count
    call make_full(storage)
    options = Valet_Options_default()
    options%order = VALET_ORDER_STABLE
    options%verify = 1
    report = Valet_Report_default()
    count = count_of(rank)
    call require(Valet_Ragged_migrate(MPI_COMM_WORLD, storage, count, destinations, options, &
      report) == VALET_SUCCESS, 'a migration')
    call require(count == size(names_after()) .and. report%blocks_after == count .and. &
      report%verified == 1 .and. report%peak_extra_bytes <= report%extra_bytes_bound, 'its report')
    call check(names_after(), 'blocks that were migrated')
    call Valet_Ragged_storage_free(storage)
  end subroutine

  ! All blocks go to rank 0, which learns from the plan what it lacks.
  subroutine check_growing()
    type(c_ptr) :: storage, plan
    integer, allocatable :: before(:)
    to_first = .true.
    before = names_before()
    call make(size(before), sum(values_of(before)), sum(numbers_of(before)), storage)
    call require(Valet_Ragged_plan_to_ranks(MPI_COMM_WORLD, storage, &
      int(size(before), c_int64_t), destinations, plan=plan) == VALET_SUCCESS, 'a plan')
    call require(Valet_Ragged_plan_blocks_after(plan) == size(names_after()) .and. &
      Valet_Ragged_plan_required_bytes(plan, 0_c_size_t) == 8*sum(values_of(names_after())) &
      .and. Valet_Ragged_plan_required_bytes(plan, 1_c_size_t) == &
      4*sum(numbers_of(names_after())), 'what a plan requires')
    if (ranks > 1) then
      call require(Valet_Ragged_execute(plan, storage, destinations) == VALET_INFEASIBLE, &
        'an arena that is too small')
      call require(index(Valet_Error_message(), "ragged field 'values'") > 0, 'what is too small')
      call check(before, 'blocks that were refused')
    end if
    call Valet_Ragged_storage_free(storage)
    call make_full(storage)
    call require(Valet_Ragged_execute(plan, storage, destinations) == VALET_SUCCESS, &
      'an execution in arenas that have grown')
    call check(names_after(), 'blocks in arenas that have grown')
    call Valet_Ragged_plan_free(plan)
    call Valet_Ragged_storage_free(storage)
    to_first = .false.
  end subroutine

  subroutine check_errors()
    type(c_ptr) :: storage, plan
    integer(c_int64_t) :: count
    character(16) :: culprit
    call make_full(storage)
    count = count_of(rank)
    if (rank == ranks - 1) lengths(3) = -1  ! 2^64 - 1 as bytes
    write (culprit, '(a, i0, a)') 'rank ', ranks - 1, ':'
    call require(Valet_Ragged_migrate(MPI_COMM_WORLD, storage, count, destinations) &
      == VALET_INVALID_ARGUMENT, 'a length that cannot be')
    call require(index(Valet_Error_message(), trim(culprit)) > 0 .and. &
      index(Valet_Error_message(), 'block 2 of 18446744073709551615 (negative: -1)') > 0, &
      'the text about a length')
    call require(count == count_of(rank), 'the number of blocks after an error')
    if (rank == ranks - 1) lengths(3) = 8*values_of(names(3))
    call check(names_before(), 'blocks after an error')
    plan = c_null_ptr
    call require(Valet_Ragged_plan_required_bytes(plan, 0_c_size_t) == 0, 'no plan')
    call require(index(Valet_Error_message(), 'the plan is a null pointer') > 0, 'the text of none')
    call Valet_Ragged_storage_free(storage)
  end subroutine

end program

! SPDX-License-Identifier: BSD-3-Clause

! Uses Zoltan through the Fortran module as an application would: particles in attached arrays are
! dealt and partitioned, grow, and move by lists; then what is refused. Stops with an error unless
! all of it is right.
module attached_particles
  use, intrinsic :: iso_c_binding
  use mpi
  use valet
  use valet_zoltan
  implicit none

  interface
    integer(c_int64_t) function oracle_layout(block_size, objects, ranks, rank, numbers) bind(C)
      import :: c_int, c_int64_t
      integer(c_int64_t), value :: block_size, objects
      integer(c_int), value :: ranks, rank
      integer(c_int64_t), intent(out) :: numbers(*)
    end function
  end interface

  integer, parameter :: each = 60, slots = 2*each
  integer :: rank, ranks, ierror
  integer :: failures = 0
  integer(c_int64_t) :: asked_slots
  real(c_double), target :: place(2, slots)
  real(c_float), target :: work(slots)
  integer(c_int), target :: id(slots), part(slots)
  type(c_ptr) :: zoltan, attached

contains

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (condition) return
    print '(4a)', 'fortran_attached: ', what, ': ', Valet_Error_message()
    failures = failures + 1
  end subroutine

  logical function refused(code, text)
    integer(c_int), intent(in) :: code
    character(*), intent(in) :: text
    refused = code == VALET_INVALID_ARGUMENT .and. index(Valet_Error_message(), text) > 0
  end function

  ! Rank 0 has two particles more than its share, and the last rank two fewer.
  integer function count_of(r)
    integer, intent(in) :: r
    count_of = each
    if (ranks == 1) return
    if (r == 0) count_of = each + 2
    if (r == ranks - 1) count_of = each - 2
  end function

  elemental real(c_double) function coordinate(number, d)
    integer, intent(in) :: number, d
    coordinate = modulo(number*(7919 + 31*d), 1009)
  end function

  type(c_ptr) function storage_of(rows)
    integer, intent(in) :: rows
    integer(c_int) :: ignored
    storage_of = Valet_Storage_create()
    ignored = Valet_Storage_add_field(storage_of, c_loc(place), int(rows, c_int64_t), &
      16_c_size_t, 16_c_ptrdiff_t, 'place')
    ignored = Valet_Storage_add_field(storage_of, c_loc(work), int(rows, c_int64_t), 4_c_size_t, &
      4_c_ptrdiff_t, 'work')
    ignored = Valet_Storage_add_field(storage_of, c_loc(id), int(rows, c_int64_t), 4_c_size_t, &
      4_c_ptrdiff_t, 'id')
  end function

  subroutine fill()
    integer :: s, r, first
    first = sum([(count_of(r), r=0, rank - 1)])
    id(:count_of(rank)) = [(first + s, s=0, count_of(rank) - 1)]
    place(1, :) = coordinate(id, 1)
    place(2, :) = coordinate(id, 2)
    work = 1 + real(modulo(id, 3))
    part = rank
  end subroutine

  subroutine begin(method, rows, options)
    character(*), intent(in) :: method
    integer, intent(in) :: rows
    type(Valet_Attached_options), optional :: options
    type(c_ptr) :: storage
    call fill()
    zoltan = Valet_Zoltan_create(MPI_COMM_WORLD)
    call require(Valet_Set_Param(zoltan, 'DEBUG_LEVEL', '0') == 0 .and. &
      Valet_Set_Param(zoltan, 'LB_METHOD', method) == 0, 'parameters of Zoltan')
    storage = storage_of(rows)
    call require(Valet_Zoltan_attach(zoltan, int(count_of(rank), c_int64_t), storage, options, &
      attached) == VALET_SUCCESS, 'attaching')
    call Valet_Storage_free(storage)
    call require(Valet_Attached_coordinates(attached, Valet_Numbers(c_loc(place), &
      VALET_NUMBERS_DOUBLE, 2, 0, slots)) == VALET_SUCCESS, 'coordinates')
    call require(Valet_Attached_ids(attached, Valet_Numbers(c_loc(id), VALET_NUMBERS_INT32, 1, 0, &
      slots)) == VALET_SUCCESS, 'ids')
  end subroutine

  subroutine finish()
    call Valet_Attached_free(attached)
    call Valet_Zoltan_destroy(zoltan)
    call require(.not. c_associated(zoltan), 'the structure is gone')
  end subroutine

  ! Every particle is there once, and whole.
  subroutine check(count, what)
    integer(c_int64_t), intent(in) :: count
    character(*), intent(in) :: what
    integer :: n, sums(2)
    n = int(count)
    call require(all(place(1, :n) == coordinate(id(:n), 1)) .and. &
      all(place(2, :n) == coordinate(id(:n), 2)) .and. &
      all(work(:n) == 1 + real(modulo(id(:n), 3))), what)
    sums = [n, sum(id(:n))]
    call MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call require(sums(1) == each*ranks .and. sums(2) == each*ranks*(each*ranks - 1)/2, &
      what // ', each once')
  end subroutine

  subroutine check_layout(method, block)
    character(*), intent(in) :: method
    integer(c_int64_t), intent(in) :: block
    integer(c_int64_t) :: numbers(slots), count
    integer(c_int) :: changes
    type(Valet_Report) :: report
    call begin(method, slots)
    report = Valet_Report_default()
    call require(Valet_Attached_partition(attached, changes, report) == VALET_SUCCESS, method)
    call require(changes == merge(1, 0, ranks > 1), 'whether something changed')
    count = oracle_layout(block, int(each*ranks, c_int64_t), ranks, rank, numbers)
    call require(Valet_Attached_count(attached) == count, 'the count of ' // method)
    if (ranks > 1) call require(report%plan_from_layout /= 0, 'a plan from the layout')
    call require(all(id(:count) == numbers(:count)), 'the slots of ' // method)
    call check(count, method)
    call finish()
  end subroutine

  ! What is dealt is in a layout, which can be forgotten, and told.
  subroutine check_told_layout()
    type(Valet_Object_layout) :: layout
    integer(c_int) :: is_known
    integer :: s
    call begin('CYCLIC', slots)
    call require(Valet_Attached_partition(attached) == VALET_SUCCESS .and. &
      Valet_Attached_layout(attached, is_known, layout) == VALET_SUCCESS, 'a layout')
    call require(is_known == 1 .and. layout%block_size == 1 .and. layout%ranks == 0, &
      'the layout of what was dealt')
    call require(Valet_Attached_forget_layout(attached) == VALET_SUCCESS .and. &
      Valet_Attached_layout(attached, is_known, layout) == VALET_SUCCESS .and. is_known == 0, &
      'a layout that was forgotten')
    call require(Valet_Attached_set_layout(attached, layout) == VALET_SUCCESS .and. &
      Valet_Set_Param(zoltan, 'LB_METHOD', 'BLOCK') == 0 .and. &
      Valet_Attached_partition(attached) == VALET_SUCCESS, 'a layout that is told')
    call require(all(id(:each) == [(each*rank + s, s=0, each - 1)]), &
      'the slots that follow from the layout')
    call check(Valet_Attached_count(attached), 'particles that were in a layout')
    call finish()
  end subroutine

  subroutine check_weights()
    type(Valet_Attached_options) :: options
    type(Valet_Options), target :: migration
    type(Valet_Rebalance_result) :: result
    type(Valet_Report) :: report
    integer(c_int) :: changes
    integer :: n
    migration = Valet_Options_default()
    migration%method = VALET_METHOD_PHASED
    options = Valet_Attached_options_default()
    options%migration = c_loc(migration)
    options%granularity = 2
    call begin('RCB', slots, options)
    call require(Valet_Set_Param(zoltan, 'NUM_LOCAL_PARTS', '2') == 0, 'parts')
    call require(Valet_Attached_weights(attached, Valet_Numbers(c_loc(work), VALET_NUMBERS_FLOAT, &
      1, 4, slots)) == VALET_SUCCESS, 'weights')
    part = 2*rank
    call require(Valet_Attached_parts(attached, c_loc(part), int(slots, c_int64_t)) == &
      VALET_SUCCESS, 'parts')
    call require(Valet_Attached_partition(attached, changes) == VALET_SUCCESS .and. changes == 1, &
      'a partition')
    n = int(Valet_Attached_count(attached))
    call require(all(part(:n)/2 == rank), 'the parts')
    call check(Valet_Attached_count(attached), 'particles in parts')
    result = Valet_Rebalance_result_default()
    report = Valet_Report_default()
    call require(Valet_Attached_result(attached, result, report) == VALET_SUCCESS, 'a result')
    call require(result%count == n .and. result%weight_imbalance_after < 1.3d0 .and. &
      Valet_String(result%warning) == '', 'the numbers of a result')
    call require(ranks == 1 .or. Valet_String(report%method) == 'phased', 'the options')
    call finish()
  end subroutine

  ! Gives the arrays that are asked for; Valet_Attached_storage_ragged() gives ragged ones.
  integer(c_int) function grow(required_slots, required_bytes, data) bind(C)
    integer(c_int64_t), value :: required_slots
    type(c_ptr), value :: required_bytes, data
    type(c_ptr) :: storage
    asked_slots = required_slots
    grow = merge(0, 1, c_associated(data) .and. .not. c_associated(required_bytes))
    storage = storage_of(slots)
    if (Valet_Attached_storage(attached, storage) /= VALET_SUCCESS) grow = 2
    call Valet_Storage_free(storage)
  end function

  subroutine check_growth()
    type(Valet_Attached_options) :: options
    ! Who gets more calls what Valet_Attached_grow(attached, c_funloc(grow), attached) names.
    ! Blocks of different sizes are attached by Valet_Zoltan_attach_ragged().
    options = Valet_Attached_options_default()
    options%when_infeasible = VALET_WHEN_INFEASIBLE_GROW

    ! Besides, as in C: Valet_Attached_ids and Valet_Attached_parts; Valet_Attached_layout,
    ! Valet_Attached_set_layout, Valet_Attached_forget_layout; Valet_Attached_set_count and
    ! Valet_Attached_detach.
    call begin('CYCLIC', count_of(rank), options)
    asked_slots = 0
    call require(Valet_Attached_grow(attached, c_funloc(grow), attached) == VALET_SUCCESS, &
      'a function to grow')
    call require(Valet_Attached_partition(attached) == VALET_SUCCESS, 'growing')
    call require(asked_slots == merge(each, 0, count_of(rank) < each), 'the slots asked for')
    call check(Valet_Attached_count(attached), 'particles in arrays that grew')
    call finish()
  end subroutine

  ! All particles of this rank go to the next one, by the parameters of a structure.
  subroutine check_lists()
    type(Valet_Zoltan_lists) :: lists
    type(Valet_Zoltan_list_options) :: options
    type(Valet_Report) :: report
    type(c_ptr) :: storage
    integer(c_int), target :: gids(slots), lids(slots), procs(slots)
    integer(c_int64_t) :: count
    integer(c_int) :: code
    integer :: s
    call fill()
    zoltan = Valet_Zoltan_create(MPI_COMM_WORLD)
    call require(Valet_Set_Param(zoltan, 'MIGRATE_METHOD', 'CYCLIC') == 0, 'a method')
    storage = storage_of(slots)
    gids = id
    lids = [(s, s=0, slots - 1)]
    procs = modulo(rank + 1, ranks)
    lists%exports = Valet_Zoltan_list(count_of(rank), c_loc(gids), c_loc(lids), c_loc(procs))
    options = Valet_Zoltan_list_options_default()
    options%zoltan = zoltan
    report = Valet_Report_default()
    count = -1
    code = Valet_Zoltan_Migrate_lists(MPI_COMM_WORLD, lists, int(count_of(rank), c_int64_t), &
      c_null_ptr, storage, options, count, report)
    call require(code == VALET_SUCCESS, 'lists')
    call require(count == count_of(modulo(rank - 1 + ranks, ranks)), 'the count after lists')
    call require(ranks == 1 .or. Valet_String(report%method) == 'cyclic', &
      'the method of a structure')
    call check(count, 'particles in lists')
    call Valet_Storage_free(storage)
    call Valet_Zoltan_destroy(zoltan)
  end subroutine

  subroutine check_errors()
    type(c_ptr) :: twice, storage
    call require(refused(Valet_Attached_partition(c_null_ptr), &
      'make it by Valet_Zoltan_attach()'), 'no handle')
    call begin('RCB', slots)
    twice = c_null_ptr
    storage = storage_of(slots)
    call require(refused(Valet_Zoltan_attach(zoltan, 0_c_int64_t, storage, attached=twice), &
      'attached to this Zoltan_Struct already'), 'attaching twice')
    call require(refused(Valet_Attached_coordinates(attached, Valet_Numbers(c_loc(place), 9, 2, 0, &
      slots)), 'unknown type 9'), 'numbers of no type')
    if (rank == 0) call require(Valet_Attached_set_count(attached, slots + 1_c_int64_t) == &
      VALET_SUCCESS, 'a count')
    call require(refused(Valet_Attached_partition(attached), 'rank 0: 121 objects'), &
      'too many objects')
    call require(Valet_Attached_detach(attached) == VALET_SUCCESS, 'detaching')
    call require(refused(Valet_Zoltan_attach(zoltan, 0_c_int64_t, c_null_ptr, attached=twice), &
      'the storage is a null pointer') .and. .not. c_associated(twice), 'no storage')
    call Valet_Storage_free(storage)
    call finish()
  end subroutine

end module

program fortran_attached
  use attached_particles
  implicit none
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call check_layout('BLOCK', int(each, c_int64_t))
  call check_layout('CYCLIC', 1_c_int64_t)
  call check_told_layout()
  call check_weights()
  call check_growth()
  call check_lists()
  call check_errors()
  call MPI_Finalize(ierror)
  if (failures > 0) error stop 1

end program

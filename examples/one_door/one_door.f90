! SPDX-License-Identifier: BSD-3-Clause

! one_door.cpp in Fortran: particles in arrays, attached to Zoltan.
program one_door
  use, intrinsic :: iso_c_binding
  use mpi
  use valet
  use valet_zoltan
  implicit none

  interface
    subroutine limit_data(more) bind(C)  ! limit.c
      import :: c_int64_t
      integer(c_int64_t), value :: more
    end subroutine
  end interface
  integer(c_int64_t), parameter :: each = 200000, slots = 300000  ! of a rank: particles, room
  real(c_double), allocatable, target :: position(:, :), velocity(:, :), work(:), copy(:, :)
  integer(c_int), allocatable, target :: id(:)
  integer :: rank, wrong, ierror, d, pass, unit, code, status
  integer(c_int64_t) :: s, before(4), promised
  character(256) :: path, name, value
  type(c_ptr) :: zoltan, storage, attached
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  allocate (position(3, slots), velocity(3, slots), work(slots), id(slots))
  id = int([(each*rank + s, s=0, slots - 1)])
  work = 1 + modulo(id, 3)
  do d = 0, 2
    position(d + 1, :) = modulo(int(id, c_int64_t)*(7919 + 96810*d), 1000003_c_int64_t)
    velocity(d + 1, :) = modulo(id, 101 + d)
  end do
  before = sums(each)
  zoltan = Valet_Zoltan_create(MPI_COMM_WORLD)
  storage = Valet_Storage_create()
  code = Valet_Storage_add_field(storage, c_loc(position), slots, 24_8, 24_8, 'position')
  code = Valet_Storage_add_field(storage, c_loc(velocity), slots, 24_8, 24_8, 'velocity')
  code = Valet_Storage_add_field(storage, c_loc(work), slots, 8_8, 8_8, 'work')
  code = Valet_Storage_add_field(storage, c_loc(id), slots, 4_8, 4_8, 'id')
  wrong = Valet_Zoltan_attach(zoltan, each, storage, attached=attached)
  wrong = wrong + Valet_Attached_coordinates( &
    attached, Valet_Numbers(c_loc(position), VALET_NUMBERS_DOUBLE, 3, 0, slots))
  wrong = wrong + Valet_Attached_weights( &
    attached, Valet_Numbers(c_loc(work), VALET_NUMBERS_DOUBLE, 1, 0, slots))
  call get_command_argument(1, path)
  do pass = 0, 1
    open (newunit=unit, file=path, status='old', action='read')
    read (unit, *, iostat=status) name, value
    do while (status == 0)
      wrong = wrong + Valet_Set_Param(zoltan, name, value)
      if (pass == 1 .and. rank == 0) print '(3a)', trim(name), ' ', trim(value)
      if (name == 'LB_METHOD') call step()
      read (unit, *, iostat=status) name, value
    end do
    close (unit)
    if (pass == 0) call limit_data(promised)
  end do
  allocate (copy(6, slots), stat=status)
  wrong = wrong + merge(1, 0, status == 0)  ! a second copy does not fit
  call Valet_Attached_free(attached)
  call Valet_Storage_free(storage)
  call Valet_Zoltan_destroy(zoltan)
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (rank == 0 .and. wrong == 0) print '(a)', 'every particle is there once'
  call MPI_Finalize(ierror)
  if (wrong > 0) error stop 'something is wrong'

contains
  ! Sums over the particles of all ranks that nothing may change: their number, ids, and states.
  function sums(count)
    integer(c_int64_t) :: count, sums(4), k
    sums = [count, 0_8, 0_8, 0_8]
    do k = 1, count
      sums(2:3) = sums(2:3) + [int(id(k), 8), int(id(k), 8)**2]
      sums(4) = sums(4) + dot_product(id(k) + [0, 1, 2], nint(position(:, k) + 7*velocity(:, k), 8))
    end do
    call MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD, ierror)
  end function
  ! Partitions, and tells what that took.
  subroutine step()
    type(Valet_Rebalance_result) :: result
    type(Valet_Report) :: report, all
    integer(c_int64_t) :: peak, after(4)
    result = Valet_Rebalance_result_default()
    report = Valet_Report_default()
    all = report
    wrong = wrong + Valet_Attached_partition(attached)
    code = Valet_Attached_result(attached, result, report)
    code = Valet_Summed_over_ranks(MPI_COMM_WORLD, report, all)
    peak = max(result%partition_extra_bytes, all%peak_extra_bytes)
    call MPI_Allreduce(MPI_IN_PLACE, peak, 1, MPI_INTEGER8, MPI_MAX, MPI_COMM_WORLD, ierror)
    promised = all%budget_bytes + 65536 + 256*(all%ranks - 1) + 12*slots
    if (pass == 1 .and. rank == 0) print '(3a, 3(i0, a), a)', '  by ', Valet_String(all%method), &
      ": ASPEN's segments ", all%segments, ', peak ', peak/1024, ' of ', promised/1024, ' KiB. ', &
      Valet_String(all%reason)
    after = sums(Valet_Attached_count(attached))
    if (peak > promised .or. any(after /= before)) wrong = wrong + 1
  end subroutine
end program

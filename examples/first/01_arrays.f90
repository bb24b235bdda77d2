! SPDX-License-Identifier: BSD-3-Clause

! Particles in arrays of the application go to the ranks that own them. There is no second copy of
! the arrays: what leaves a rank makes room for what arrives.
!
!   mpirun -n 4 01_arrays_fortran
!   400 particles are on their ranks
!   rank 0 had 100 of them, and has 160 in the same arrays
program arrays
  use, intrinsic :: iso_c_binding
  use mpi
  use valet
  implicit none
  integer(c_int64_t), parameter :: slots = 200  ! of a rank: room for so many particles
  integer(c_int64_t) :: count = 100, k          ! slots 1 to 100 are in use
  real(c_double), target :: x(3, slots) = 0
  integer(c_int), target :: id(slots)
  integer(c_int) :: ranks(slots)  ! where they go
  type(c_ptr) :: storage, plan
  integer :: code, me, all, right, ierror

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, all, ierror)
  id = int([(100*me + k, k=0, slots - 1)])
  x(1, :) = 0.5*id
  ranks = owner_of(id)

  storage = Valet_Storage_create()
  code = Valet_Storage_add_field(storage, c_loc(x), slots, 24_c_size_t, 24_c_ptrdiff_t, 'x')
  code = Valet_Storage_add_field(storage, c_loc(id), slots, 4_c_size_t, 4_c_ptrdiff_t, 'id')
  code = Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, count, c_null_ptr, ranks, plan=plan)
  if (code == VALET_SUCCESS) code = Valet_Execute(plan, storage)
  if (code == VALET_SUCCESS) count = Valet_Plan_blocks_after(plan)

  if (code /= VALET_SUCCESS) print '(a)', Valet_Error_message()  ! the same on all ranks
  call Valet_Plan_free(plan)
  call Valet_Storage_free(storage)

  right = 0
  do k = 1, count
    if (owner_of(id(k)) == me .and. nint(2*x(1, k)) == id(k)) right = right + 1
  end do
  call MPI_Allreduce(MPI_IN_PLACE, right, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (me == 0) print '(i0, a, /, a, i0, a)', right, ' particles are on their ranks', &
    'rank 0 had 100 of them, and has ', count, ' in the same arrays'
  call MPI_Finalize(ierror)
  if (right /= 100*all) error stop 'something is wrong'

contains
  ! The first rank owns twice as many particles as the others.
  elemental integer function owner_of(particle)
    integer(c_int), intent(in) :: particle
    owner_of = modulo(modulo(particle, all + 1), all)
  end function
end program

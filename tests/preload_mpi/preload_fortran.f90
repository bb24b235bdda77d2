! SPDX-License-Identifier: BSD-3-Clause

! An all-to-all in place by each of MPI's modules, in a program that knows nothing of Valet.
module calls
  implicit none
contains
  logical function is_right_with_mpi()
    use mpi
    integer :: ranks, rank, k, ierr
    double precision, allocatable :: values(:)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    values = [(dble(100 * rank + k), k = 0, ranks - 1)]
    call MPI_Alltoall(MPI_IN_PLACE, 1, MPI_DOUBLE_PRECISION, values, 1, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    is_right_with_mpi = all(nint(values) == [(100 * k + rank, k = 0, ranks - 1)])
  end function

  logical function is_right_with_mpi_f08()
    use mpi_f08
    integer :: ranks, rank, k
    integer, allocatable :: values(:), ones(:), places(:)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    values = [(100 * rank + k, k = 0, ranks - 1)]
    ones = [(1, k = 1, ranks)]
    places = [(k, k = 0, ranks - 1)]
    call MPI_Alltoallv(MPI_IN_PLACE, ones, places, MPI_INTEGER, values, ones, places, MPI_INTEGER, MPI_COMM_WORLD)
    is_right_with_mpi_f08 = all(values == [(100 * k + rank, k = 0, ranks - 1)])
  end function
end module

program preload_fortran
  use mpi, only: MPI_Init, MPI_Finalize
  use calls
  implicit none
  integer :: ierr
  call MPI_Init(ierr)
  if (.not. is_right_with_mpi() .or. .not. is_right_with_mpi_f08()) error stop 1
  call MPI_Finalize(ierr)
end program

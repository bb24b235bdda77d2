! SPDX-License-Identifier: BSD-3-Clause

! A matrix that ScaLAPACK describes changes from blocks of 2 x 3 to blocks of 5 x 4 inside the array
! that it is in. Arrays are column-major, as in Fortran; the ranks of the grid of 2 x 2 are numbered
! row by row, as BLACS_GRIDINIT does it by default: rank 1 is in row 0 and column 1.
!
!   mpirun -n 4 08_layouts
!   rank 0 has 10 x 9 elements in blocks of 2 x 3, and then 10 x 8 in blocks of 5 x 4
!   288 elements are where the second descriptor has them
program layouts
  use, intrinsic :: iso_c_binding
  use mpi
  use valet
  implicit none
  integer, parameter :: rows = 18, columns = 16
  ! DTYPE, CTXT, M, N, MB, NB, RSRC, CSRC, LLD; Valet does not look at the context.
  integer(c_int), parameter :: small(9) = [1, 0, rows, columns, 2, 3, 0, 0, 10]
  integer(c_int), parameter :: large(9) = [1, 0, rows, columns, 5, 4, 0, 0, 10]
  type(Valet_Layout_lists), target :: small_lists, large_lists
  type(Valet_Layout) :: before, after
  integer(c_int64_t) :: old(2) = 0, new(2) = 0  ! local rows and columns
  real(c_double), allocatable, target :: a(:)
  integer :: code, me, right, ierror

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierror)
  code = Valet_Layout_from_descriptor(small, 2, 2, VALET_ROW_MAJOR, small_lists, before)
  code = Valet_Layout_from_descriptor(large, 2, 2, VALET_ROW_MAJOR, large_lists, after)
  code = Valet_Layout_local_extents(before, me, old)
  code = Valet_Layout_local_extents(after, me, new)

  allocate (a(max(product(old), product(new))))  ! room for both, without gaps between columns
  a(:product(old)) = elements(small, old)
  code = Valet_Redistribute_in_place(MPI_COMM_WORLD, before, after, 8_c_size_t, &
    Valet_Array(c_loc(a), 8*size(a, kind=c_size_t), VALET_COLUMN_MAJOR))
  if (code /= VALET_SUCCESS) print '(a)', Valet_Error_message()

  right = count(nint(a(:product(new))) == nint(elements(large, new)))
  call MPI_Allreduce(MPI_IN_PLACE, right, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (me == 0) print '(4(a, i0), a, /, i0, a)', 'rank 0 has ', old(1), ' x ', old(2), &
    ' elements in blocks of 2 x 3, and then ', new(1), ' x ', new(2), ' in blocks of 5 x 4', &
    right, ' elements are where the second descriptor has them'
  call MPI_Finalize(ierror)
  if (right /= rows*columns) error stop 'something is wrong'

contains
  ! The local array of this rank, in which element (i, j) is 100 i + j: INDXL2G for each.
  function elements(descriptor, extents) result(values)
    integer(c_int), intent(in) :: descriptor(9)
    integer(c_int64_t), intent(in) :: extents(2)
    real(c_double) :: values(product(extents))
    integer(c_int64_t) :: i, j
    values = [((100*global(i, descriptor(5), me/2) + global(j, descriptor(6), modulo(me, 2)), &
      i=0, extents(1) - 1), j=0, extents(2) - 1)]
  end function
  elemental integer function global(local, block, process)
    integer(c_int64_t), intent(in) :: local
    integer, intent(in) :: block, process
    global = int((2*(local/block) + process)*block + modulo(local, int(block, c_int64_t)))
  end function
end program

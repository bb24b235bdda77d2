! SPDX-License-Identifier: BSD-3-Clause

!> What a rank of one block-cyclic layout shares with the ranks of another, for Fortran: the
!! function of intersect.h under its C name. Used with the module `valet`, which has the layouts.
!! Indices, ranks and dimensions start at 0.
module valet_intersection
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t
  use valet, only: Valet_Layout
  implicit none
  private

  integer(c_int), parameter, public :: VALET_INTERSECTION_ASPEN = 0, &
    VALET_INTERSECTION_FALLS = 1, VALET_INTERSECTION_CLASSICAL = 2, VALET_ALL_PEERS = -1

  type, bind(C), public :: Valet_Index_family
    integer(c_int64_t) :: position
    integer(c_int64_t) :: local
    integer(c_int64_t) :: length
    integer(c_int64_t) :: count
    integer(c_int) :: peer
  end type

  type, bind(C), public :: Valet_Index_families
    integer(c_int64_t) :: families
    integer(c_int64_t) :: stride
    integer(c_int64_t) :: local_stride
    integer(c_int64_t) :: period
    integer(c_int64_t) :: local_period
    integer(c_int64_t) :: extent
    integer(c_int64_t) :: operations
  end type

  public :: Valet_Intersect

  interface
    integer(c_int) function Valet_Intersect(mine, rank, theirs, peer, dimension, algorithm, &
        families, room, found) bind(C, name="Valet_Intersect")
      import :: c_int, c_int64_t, Valet_Index_families, Valet_Index_family, Valet_Layout
      type(Valet_Layout) :: mine, theirs
      integer(c_int), value :: rank, peer, dimension, algorithm
      type(Valet_Index_family), intent(inout) :: families(*)
      integer(c_int64_t), value :: room
      type(Valet_Index_families), intent(inout) :: found
    end function
  end interface

end module valet_intersection

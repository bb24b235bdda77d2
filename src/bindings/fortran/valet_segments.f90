! SPDX-License-Identifier: BSD-3-Clause

!> Rows that are not one array, and blocks in the segments that they belong to, for Fortran: the
!! functions of block_storage.h and plan.h under their C names. Used with the module `valet`.
module valet_segments
  use, intrinsic :: iso_c_binding, only: c_int, c_int32_t, c_int64_t, c_ptr, c_ptrdiff_t, c_size_t
  use valet, only: Valet_Options
  implicit none
  private

  public :: Valet_Storage_in_tiles, Valet_Storage_in_segments, Valet_Storage_by_pointers, &
    Valet_Group

  interface
    integer(c_int) function Valet_Storage_in_tiles(storage, slots_per_tile, tile_stride_bytes) &
        bind(C, name="Valet_Storage_in_tiles")
      import :: c_int, c_int64_t, c_ptr, c_ptrdiff_t
      type(c_ptr), value :: storage
      integer(c_int64_t), value :: slots_per_tile
      integer(c_ptrdiff_t), value :: tile_stride_bytes
    end function

    integer(c_int) function Valet_Storage_in_segments(storage, segments, starts, slots) &
        bind(C, name="Valet_Storage_in_segments")
      import :: c_int, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: storage
      integer(c_size_t), value :: segments
      type(c_ptr), intent(in) :: starts(*)
      integer(c_int64_t), intent(in) :: slots(*)
    end function

    !> `rows`: a target that stays as long as the storage is used.
    integer(c_int) function Valet_Storage_by_pointers(storage, rows) &
        bind(C, name="Valet_Storage_by_pointers")
      import :: c_int, c_ptr
      type(c_ptr), value :: storage
      type(c_ptr), intent(in) :: rows(*)
    end function

    !> `mask`: c_null_ptr, or one byte per slot. Segments are counted from 0.
    integer(c_int) function Valet_Group(storage, count, mask, segments, segment_count, &
        segment_slots, options, blocks) bind(C, name="Valet_Group")
      import :: c_int, c_int32_t, c_int64_t, c_ptr, c_size_t, Valet_Options
      type(c_ptr), value :: storage, mask
      integer(c_int64_t), value :: count
      integer(c_int32_t), intent(in) :: segments(*)
      integer(c_size_t), value :: segment_count
      integer(c_int64_t), intent(in) :: segment_slots(*)
      type(Valet_Options), intent(in), optional :: options
      integer(c_int64_t), intent(out) :: blocks(*)
    end function
  end interface

end module valet_segments

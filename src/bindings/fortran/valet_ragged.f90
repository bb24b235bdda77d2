! SPDX-License-Identifier: BSD-3-Clause

!> Blocks of different sizes for Fortran: the functions of ragged.h under their C names. Used with
!! the module `valet`, which has the options, reports and errors.
!!
!! See ragged.h for what they do and for their errors. Data, lengths and offsets are c_loc of
!! contiguous arrays with the target attribute. Lengths and offsets are integer(c_int64_t), in
!! bytes. Valet keeps their addresses until the storage is freed.
module valet_ragged
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_funptr, c_int, c_int64_t, &
    c_null_char, c_ptr, c_size_t
  use valet, only: Valet_Options, Valet_Report
  implicit none
  private

  public :: Valet_Ragged_storage_create, Valet_Ragged_storage_add_field, &
    Valet_Ragged_storage_add_field_by_offsets, Valet_Ragged_storage_add_column, &
    Valet_Ragged_storage_grow_by, Valet_Ragged_storage_refuse, Valet_Ragged_storage_free, Valet_Ragged_plan_to_ranks, &
    Valet_Ragged_plan_free, &
    Valet_Ragged_plan_blocks_after, Valet_Ragged_plan_required_bytes, Valet_Ragged_execute, &
    Valet_Ragged_migrate, Valet_Ragged_resize

  interface
    type(c_ptr) function Valet_Ragged_storage_create() bind(C, name="Valet_Ragged_storage_create")
      import :: c_ptr
    end function

    integer(c_int) function add_column(storage, data, rows, row_bytes, label) &
        bind(C, name="Valet_Ragged_storage_add_column")
      import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: storage, data
      integer(c_int64_t), value :: rows
      integer(c_size_t), value :: row_bytes
      character(kind=c_char), intent(in) :: label(*)
    end function

    integer(c_int) function refuse(storage, why) bind(C, name="Valet_Ragged_storage_refuse")
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: storage
      character(kind=c_char), intent(in) :: why(*)
    end function

    !> `grow`: as in Valet_Storage_grow_by(), with the bytes of each arena behind the blocks:
    !! integer(c_int64_t), intent(in) :: bytes(*).
    integer(c_int) function Valet_Ragged_storage_grow_by(storage, grow, data) &
        bind(C, name="Valet_Ragged_storage_grow_by")
      import :: c_funptr, c_int, c_ptr
      type(c_ptr), value :: storage, data
      type(c_funptr), value :: grow
    end function

    subroutine Valet_Ragged_storage_free(storage) bind(C, name="Valet_Ragged_storage_free")
      import :: c_ptr
      type(c_ptr), value :: storage
    end subroutine

    integer(c_int) function Valet_Ragged_plan_to_ranks(communicator, storage, count, ranks, &
        options, plan) bind(C, name="Valet_Ragged_plan_to_ranks_f")
      import :: c_int, c_int64_t, c_ptr, Valet_Options
      integer(c_int), value :: communicator
      type(c_ptr), value :: storage
      integer(c_int64_t), value :: count
      integer(c_int), intent(in) :: ranks(*)
      type(Valet_Options), optional :: options
      type(c_ptr), intent(inout) :: plan
    end function

    subroutine Valet_Ragged_plan_free(plan) bind(C, name="Valet_Ragged_plan_free")
      import :: c_ptr
      type(c_ptr), value :: plan
    end subroutine

    integer(c_int64_t) function Valet_Ragged_plan_blocks_after(plan) &
        bind(C, name="Valet_Ragged_plan_blocks_after")
      import :: c_int64_t, c_ptr
      type(c_ptr), value :: plan
    end function

    !> `field` counts from 0, like all numbers in Valet.
    integer(c_int64_t) function Valet_Ragged_plan_required_bytes(plan, field) &
        bind(C, name="Valet_Ragged_plan_required_bytes")
      import :: c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: plan
      integer(c_size_t), value :: field
    end function

    integer(c_int) function Valet_Ragged_execute(plan, storage, ranks, report) &
        bind(C, name="Valet_Ragged_execute")
      import :: c_int, c_ptr, Valet_Report
      type(c_ptr), value :: plan, storage
      integer(c_int), intent(in) :: ranks(*)
      type(Valet_Report), intent(inout), optional :: report
    end function

    !> `count`, in: blocks of this rank; out, on success: the new number.
    integer(c_int) function Valet_Ragged_migrate(communicator, storage, count, ranks, options, &
        report) bind(C, name="Valet_Ragged_migrate_f")
      import :: c_int, c_int64_t, c_ptr, Valet_Options, Valet_Report
      integer(c_int), value :: communicator
      type(c_ptr), value :: storage
      integer(c_int64_t), intent(inout) :: count
      integer(c_int), intent(in) :: ranks(*)
      type(Valet_Options), optional :: options
      type(Valet_Report), intent(inout), optional :: report
    end function

    integer(c_int) function Valet_Ragged_resize(communicator, storage, count, active_before, &
        active_after, balance, weights, options, report) bind(C, name="Valet_Ragged_resize_f")
      import :: c_double, c_int, c_int64_t, c_ptr, Valet_Options, Valet_Report
      integer(c_int), value :: communicator, active_before, active_after, balance
      type(c_ptr), value :: storage
      integer(c_int64_t), intent(inout) :: count
      real(c_double), intent(in), optional :: weights(*)
      type(Valet_Options), optional :: options
      type(Valet_Report), intent(inout), optional :: report
    end function
  end interface

  abstract interface
    integer(c_int) function field_adder(storage, data, capacity_bytes, words, block_capacity, &
        alignment_bytes, label) bind(C)
      import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: storage, data, words
      integer(c_int64_t), value :: capacity_bytes, block_capacity
      integer(c_size_t), value :: alignment_bytes
      character(kind=c_char), intent(in) :: label(*)
    end function
  end interface

contains

  !> `label` is used in messages.
  integer(c_int) function Valet_Ragged_storage_add_field(storage, data, capacity_bytes, lengths, &
      block_capacity, alignment_bytes, label)
    type(c_ptr), intent(in) :: storage, data, lengths
    integer(c_int64_t), intent(in) :: capacity_bytes, block_capacity
    integer(c_size_t), intent(in) :: alignment_bytes
    character(*), intent(in) :: label
    procedure(field_adder), bind(C, name="Valet_Ragged_storage_add_field") :: add_field
    Valet_Ragged_storage_add_field = add_field(storage, data, capacity_bytes, lengths, &
      block_capacity, alignment_bytes, trim(label) // c_null_char)
  end function

  !> `offsets`: block_capacity + 1 entries, the first one 0.
  integer(c_int) function Valet_Ragged_storage_add_field_by_offsets(storage, data, capacity_bytes, &
      offsets, block_capacity, alignment_bytes, label)
    type(c_ptr), intent(in) :: storage, data, offsets
    integer(c_int64_t), intent(in) :: capacity_bytes, block_capacity
    integer(c_size_t), intent(in) :: alignment_bytes
    character(*), intent(in) :: label
    procedure(field_adder), bind(C, name="Valet_Ragged_storage_add_field_by_offsets") :: add_field
    Valet_Ragged_storage_add_field_by_offsets = add_field(storage, data, capacity_bytes, &
      offsets, block_capacity, alignment_bytes, trim(label) // c_null_char)
  end function

  integer(c_int) function Valet_Ragged_storage_add_column(storage, data, rows, row_bytes, label)
    type(c_ptr), intent(in) :: storage, data
    integer(c_int64_t), intent(in) :: rows
    integer(c_size_t), intent(in) :: row_bytes
    character(*), intent(in) :: label
    Valet_Ragged_storage_add_column = add_column(storage, data, rows, row_bytes, &
      trim(label) // c_null_char)
  end function

  integer(c_int) function Valet_Ragged_storage_refuse(storage, why)
    type(c_ptr), intent(in) :: storage
    character(*), intent(in) :: why
    Valet_Ragged_storage_refuse = refuse(storage, trim(why) // c_null_char)
  end function

end module valet_ragged

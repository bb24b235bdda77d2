! SPDX-License-Identifier: BSD-3-Clause

!> Zoltan for Fortran: the functions of valet/zoltan/attached.h and valet/zoltan/lists.h under their
!! C names, and what a code needs of Zoltan itself to use them. Used with the module `valet`, which
!! has the options, reports and errors.
!!
!! See these headers for what they do and for their errors. Arrays are c_loc of variables with the
!! target attribute, or c_null_ptr; global and local ids are integer(c_int). Valet keeps the
!! addresses of attached arrays. Functions are c_funloc of functions with bind(C).
module valet_zoltan
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_funptr, c_int, c_int64_t, &
    c_null_char, c_null_funptr, c_null_ptr, c_ptr, c_size_t, c_sizeof
  use valet, only: Valet_Object_layout, Valet_Options, Valet_Report
  implicit none
  private

  integer(c_int), parameter, public :: VALET_WHEN_INFEASIBLE_REFUSE = 0, &
    VALET_WHEN_INFEASIBLE_REPAIR = 1, VALET_WHEN_INFEASIBLE_GROW = 2
  integer(c_int), parameter, public :: VALET_NUMBERS_DOUBLE = 0, VALET_NUMBERS_FLOAT = 1, &
    VALET_NUMBERS_INT32 = 2, VALET_NUMBERS_UINT32 = 3, VALET_NUMBERS_INT64 = 4, &
    VALET_NUMBERS_UINT64 = 5

  !> Start from Valet_Attached_options_default(). `migration` is c_loc of a Valet_Options.
  type, bind(C), public :: Valet_Attached_options
    integer(c_size_t) :: struct_size
    type(c_ptr) :: migration
    integer(c_int64_t) :: granularity
    integer(c_int) :: when_infeasible
  end type

  !> An array of numbers: `components` for each slot, one behind the other.
  type, bind(C), public :: Valet_Numbers
    type(c_ptr) :: data
    integer(c_int) :: type
    integer(c_size_t) :: components
    integer(c_size_t) :: stride_bytes
    integer(c_int64_t) :: slots
  end type

  !> Start from Valet_Rebalance_result_default(). Valet_String() converts `warning`.
  type, bind(C), public :: Valet_Rebalance_result
    integer(c_size_t) :: struct_size
    integer(c_int64_t) :: count
    integer(c_int64_t) :: required_slots
    real(c_double) :: weight_imbalance_before
    real(c_double) :: count_imbalance_before
    real(c_double) :: weight_imbalance_after
    real(c_double) :: count_imbalance_after
    real(c_double) :: partition_seconds
    real(c_double) :: migration_seconds
    real(c_double) :: largest_cell_share
    integer(c_int64_t) :: partition_extra_bytes
    character(kind=c_char) :: warning(512)
  end type

  !> One of Zoltan's lists; `count` -1: there is none.
  type, bind(C), public :: Valet_Zoltan_list
    integer(c_int) :: count = -1
    type(c_ptr) :: global_ids = c_null_ptr
    type(c_ptr) :: local_ids = c_null_ptr
    type(c_ptr) :: procs = c_null_ptr
    type(c_ptr) :: parts = c_null_ptr
  end type

  type, bind(C), public :: Valet_Zoltan_lists
    integer(c_int) :: gid_entries = 1
    integer(c_int) :: lid_entries = 1
    type(Valet_Zoltan_list) :: imports
    type(Valet_Zoltan_list) :: exports
  end type

  !> Start from Valet_Zoltan_list_options_default(). `migration` is c_loc of a Valet_Options.
  type, bind(C), public :: Valet_Zoltan_list_options
    integer(c_size_t) :: struct_size
    type(c_ptr) :: migration
    type(c_funptr) :: slot_of
    type(c_ptr) :: slot_of_data
    type(c_ptr) :: part_to_rank
    integer(c_size_t) :: part_count
    type(c_ptr) :: parts
    type(c_ptr) :: global_ids
    type(c_ptr) :: zoltan
  end type

  public :: Valet_Zoltan_create, Valet_Zoltan_destroy, Valet_Set_Param, Valet_Zoltan_attach, &
    Valet_Zoltan_attach_ragged, Valet_Attached_options_default, Valet_Attached_options_init, &
    Valet_Attached_coordinates, Valet_Attached_weights, Valet_Attached_ids, Valet_Attached_parts, &
    Valet_Attached_grow, Valet_Attached_count, Valet_Attached_set_count, Valet_Attached_layout, &
    Valet_Attached_set_layout, Valet_Attached_forget_layout, Valet_Attached_storage, &
    Valet_Attached_storage_ragged, Valet_Attached_partition, Valet_Attached_result, &
    Valet_Attached_detach, Valet_Attached_free, Valet_Rebalance_result_default, &
    Valet_Rebalance_result_init, Valet_Zoltan_list_options_default, &
    Valet_Zoltan_list_options_init, Valet_Zoltan_Migrate_lists

  ! Arguments of types with pointers have no intent(in), as in the module `valet`.
  interface
    !> Zoltan_Initialize and Zoltan_Create. Collective.
    type(c_ptr) function Valet_Zoltan_create(communicator) bind(C, name="Valet_Zoltan_create_f")
      import :: c_int, c_ptr
      integer(c_int), value :: communicator
    end function

    !> Zoltan_Destroy. Collective; `zoltan` becomes c_null_ptr.
    subroutine Valet_Zoltan_destroy(zoltan) bind(C, name="Valet_Zoltan_destroy_f")
      import :: c_ptr
      type(c_ptr), intent(inout) :: zoltan
    end subroutine

    integer(c_int) function set_param(zoltan, name, value) bind(C, name="Valet_Set_Param")
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: zoltan
      character(kind=c_char), intent(in) :: name(*), value(*)
    end function

    !> Called by Valet_Attached_options_default().
    subroutine Valet_Attached_options_init(options, struct_size) &
        bind(C, name="Valet_Attached_options_init")
      import :: c_size_t, Valet_Attached_options
      type(Valet_Attached_options) :: options
      integer(c_size_t), value :: struct_size
    end subroutine

    !> Called by Valet_Rebalance_result_default().
    subroutine Valet_Rebalance_result_init(result, struct_size) &
        bind(C, name="Valet_Rebalance_result_init")
      import :: c_size_t, Valet_Rebalance_result
      type(Valet_Rebalance_result) :: result
      integer(c_size_t), value :: struct_size
    end subroutine

    integer(c_int) function Valet_Zoltan_attach(zoltan, count, storage, options, attached) &
        bind(C, name="Valet_Zoltan_attach")
      import :: c_int, c_int64_t, c_ptr, Valet_Attached_options
      type(c_ptr), value :: zoltan, storage
      integer(c_int64_t), value :: count
      type(Valet_Attached_options), optional :: options
      type(c_ptr), intent(inout) :: attached
    end function

    integer(c_int) function Valet_Zoltan_attach_ragged(zoltan, count, storage, options, attached) &
        bind(C, name="Valet_Zoltan_attach_ragged")
      import :: c_int, c_int64_t, c_ptr, Valet_Attached_options
      type(c_ptr), value :: zoltan, storage
      integer(c_int64_t), value :: count
      type(Valet_Attached_options), optional :: options
      type(c_ptr), intent(inout) :: attached
    end function

    integer(c_int) function Valet_Attached_coordinates(attached, numbers) &
        bind(C, name="Valet_Attached_coordinates")
      import :: c_int, c_ptr, Valet_Numbers
      type(c_ptr), value :: attached
      type(Valet_Numbers), optional :: numbers
    end function

    integer(c_int) function Valet_Attached_weights(attached, numbers) &
        bind(C, name="Valet_Attached_weights")
      import :: c_int, c_ptr, Valet_Numbers
      type(c_ptr), value :: attached
      type(Valet_Numbers), optional :: numbers
    end function

    integer(c_int) function Valet_Attached_ids(attached, numbers) bind(C, name="Valet_Attached_ids")
      import :: c_int, c_ptr, Valet_Numbers
      type(c_ptr), value :: attached
      type(Valet_Numbers), optional :: numbers
    end function

    !> `parts` is c_loc of one integer(c_int) for each slot.
    integer(c_int) function Valet_Attached_parts(attached, parts, slots) &
        bind(C, name="Valet_Attached_parts")
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: attached, parts
      integer(c_int64_t), value :: slots
    end function

    !> `grow`: c_null_funptr, or c_funloc of a function with bind(C) that returns integer(c_int) and
    !! takes the slots as integer(c_int64_t), value; the bytes and `data` as type(c_ptr), value.
    integer(c_int) function Valet_Attached_grow(attached, grow, data) &
        bind(C, name="Valet_Attached_grow")
      import :: c_funptr, c_int, c_ptr
      type(c_ptr), value :: attached, data
      type(c_funptr), value :: grow
    end function

    integer(c_int64_t) function Valet_Attached_count(attached) bind(C, name="Valet_Attached_count")
      import :: c_int64_t, c_ptr
      type(c_ptr), value :: attached
    end function

    integer(c_int) function Valet_Attached_set_count(attached, count) &
        bind(C, name="Valet_Attached_set_count")
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: attached
      integer(c_int64_t), value :: count
    end function

    integer(c_int) function Valet_Attached_layout(attached, is_known, layout) &
        bind(C, name="Valet_Attached_layout")
      import :: c_int, c_ptr, Valet_Object_layout
      type(c_ptr), value :: attached
      integer(c_int), intent(inout) :: is_known
      type(Valet_Object_layout), intent(inout) :: layout
    end function

    integer(c_int) function Valet_Attached_set_layout(attached, layout) &
        bind(C, name="Valet_Attached_set_layout")
      import :: c_int, c_ptr, Valet_Object_layout
      type(c_ptr), value :: attached
      type(Valet_Object_layout) :: layout
    end function

    integer(c_int) function Valet_Attached_forget_layout(attached) &
        bind(C, name="Valet_Attached_forget_layout")
      import :: c_int, c_ptr
      type(c_ptr), value :: attached
    end function

    integer(c_int) function Valet_Attached_storage(attached, storage) &
        bind(C, name="Valet_Attached_storage")
      import :: c_int, c_ptr
      type(c_ptr), value :: attached, storage
    end function

    integer(c_int) function Valet_Attached_storage_ragged(attached, storage) &
        bind(C, name="Valet_Attached_storage_ragged")
      import :: c_int, c_ptr
      type(c_ptr), value :: attached, storage
    end function

    integer(c_int) function Valet_Attached_partition(attached, changes, report) &
        bind(C, name="Valet_Attached_partition")
      import :: c_int, c_ptr, Valet_Report
      type(c_ptr), value :: attached
      integer(c_int), intent(inout), optional :: changes
      type(Valet_Report), intent(inout), optional :: report
    end function

    integer(c_int) function Valet_Attached_result(attached, result, report) &
        bind(C, name="Valet_Attached_result")
      import :: c_int, c_ptr, Valet_Rebalance_result, Valet_Report
      type(c_ptr), value :: attached
      type(Valet_Rebalance_result), intent(inout), optional :: result
      type(Valet_Report), intent(inout), optional :: report
    end function

    integer(c_int) function Valet_Attached_detach(attached) bind(C, name="Valet_Attached_detach")
      import :: c_int, c_ptr
      type(c_ptr), value :: attached
    end function

    subroutine Valet_Attached_free(attached) bind(C, name="Valet_Attached_free")
      import :: c_ptr
      type(c_ptr), value :: attached
    end subroutine

    !> Called by Valet_Zoltan_list_options_default().
    subroutine Valet_Zoltan_list_options_init(options, struct_size) &
        bind(C, name="Valet_Zoltan_list_options_init")
      import :: c_size_t, Valet_Zoltan_list_options
      type(Valet_Zoltan_list_options) :: options
      integer(c_size_t), value :: struct_size
    end subroutine

    !> `mask`: c_null_ptr, or one byte per slot.
    integer(c_int) function Valet_Zoltan_Migrate_lists(communicator, lists, count, mask, storage, &
        options, new_count, report) bind(C, name="Valet_Zoltan_Migrate_lists_f")
      import :: c_int, c_int64_t, c_ptr, Valet_Report, Valet_Zoltan_list_options, Valet_Zoltan_lists
      integer(c_int), value :: communicator
      type(Valet_Zoltan_lists) :: lists
      integer(c_int64_t), value :: count
      type(c_ptr), value :: mask, storage
      type(Valet_Zoltan_list_options), optional :: options
      integer(c_int64_t), intent(inout) :: new_count
      type(Valet_Report), intent(inout), optional :: report
    end function
  end interface

contains

  !> Zoltan_Set_Param, with Valet's parameters. Local.
  integer(c_int) function Valet_Set_Param(zoltan, name, value)
    type(c_ptr), intent(in) :: zoltan
    character(*), intent(in) :: name, value
    Valet_Set_Param = set_param(zoltan, trim(name) // c_null_char, trim(value) // c_null_char)
  end function

  !> The defaults of all options.
  function Valet_Attached_options_default() result(options)
    type(Valet_Attached_options) :: options
    call Valet_Attached_options_init(options, c_sizeof(options))
  end function

  !> An empty result, to be filled by Valet_Attached_result().
  function Valet_Rebalance_result_default() result(filled)
    type(Valet_Rebalance_result) :: filled
    call Valet_Rebalance_result_init(filled, c_sizeof(filled))
  end function

  !> The defaults of all options.
  function Valet_Zoltan_list_options_default() result(options)
    type(Valet_Zoltan_list_options) :: options
    call Valet_Zoltan_list_options_init(options, c_sizeof(options))
  end function

end module valet_zoltan

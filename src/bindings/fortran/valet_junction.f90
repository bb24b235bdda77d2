! SPDX-License-Identifier: BSD-3-Clause

!> Data between two jobs or two groups of ranks for Fortran: the functions of junction.h under their
!! C names. Used with the module `valet`, which has the layouts, storages and reports.
!!
!! See junction.h for what they do and for their errors. Without `transfer` a call waits. Arrays and
!! blocks, and `ranks`, which is c_loc of integer(c_int) values, have the target attribute and stay
!! as they are until then. Ranks outside the grid of an array omit it.
module valet_junction
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_funptr, c_int, c_int64_t, &
    c_null_char, c_ptr, c_size_t, c_sizeof
  use valet, only: Valet_Array, Valet_Layout, Valet_Object_layout, Valet_Report
  implicit none
  private

  !> Start from Valet_Junction_options_default(). `folder` is c_loc of a path that ends with
  !! c_null_char, `progress` as in Valet_Options.
  type, bind(C), public :: Valet_Junction_options
    integer(c_size_t) :: struct_size
    type(c_ptr) :: folder
    real(c_double) :: timeout_seconds
    integer(c_size_t) :: budget_bytes
    integer(c_int) :: verify
    integer(c_int) :: share_memory
    integer(c_int) :: keep_memory
    integer(c_int) :: progress_bar
    type(c_funptr) :: progress
    type(c_ptr) :: progress_data
  end type

  !> Consecutive blocks of a file, from number `first` on, which counts from 0.
  type, bind(C), public :: Valet_Block_range
    integer(c_int64_t) :: first
    integer(c_int64_t) :: count
  end type

  public :: Valet_Junction_options_default, Valet_Junction_options_init, Valet_Junction_accept, &
    Valet_Junction_connect, Valet_Junction_create, Valet_Junction_open, &
    Valet_Junction_ranks, Valet_Junction_other_ranks, &
    Valet_Junction_put_array, Valet_Junction_get_array, Valet_Junction_put_blocks, &
    Valet_Junction_get_blocks, Valet_Junction_get_blocks_into, Valet_Junction_put_numbered, &
    Valet_Junction_get_numbered, Valet_Junction_put_ragged, Valet_Junction_get_ragged, &
    Valet_Junction_put_numbered_ragged, Valet_Junction_get_numbered_ragged, &
    Valet_Junction_is_ready, Valet_Junction_wait, Valet_Junction_close

  interface
    !> Called by Valet_Junction_options_default().
    subroutine Valet_Junction_options_init(options, struct_size) &
        bind(C, name="Valet_Junction_options_init")
      import :: c_size_t, Valet_Junction_options
      type(Valet_Junction_options) :: options
      integer(c_size_t), value :: struct_size
    end subroutine

    integer(c_int) function Valet_Junction_ranks(junction) bind(C, name="Valet_Junction_ranks")
      import :: c_int, c_ptr
      type(c_ptr), value :: junction
    end function

    integer(c_int) function Valet_Junction_other_ranks(junction) &
        bind(C, name="Valet_Junction_other_ranks")
      import :: c_int, c_ptr
      type(c_ptr), value :: junction
    end function

    integer(c_int) function Valet_Junction_close(junction) bind(C, name="Valet_Junction_close")
      import :: c_int, c_ptr
      type(c_ptr), value :: junction
    end function

    !> `ready` becomes 1 when Valet_Junction_wait() takes as long as the data, else 0.
    integer(c_int) function Valet_Junction_is_ready(transfer, ready) &
        bind(C, name="Valet_Junction_is_ready")
      import :: c_int, c_ptr
      type(c_ptr), value :: transfer
      integer(c_int), intent(out), optional :: ready
    end function

    integer(c_int) function Valet_Junction_wait(transfer, report) &
        bind(C, name="Valet_Junction_wait")
      import :: c_int, c_ptr, Valet_Report
      type(c_ptr), value :: transfer
      type(Valet_Report), intent(inout), optional :: report
    end function
  end interface

  ! What Fortran functions call with the labels as C takes them.
  abstract interface
    integer(c_int) function opener(communicator, name, options, junction) bind(C)
      import :: c_char, c_int, c_ptr, Valet_Junction_options
      integer(c_int), value :: communicator
      character(kind=c_char), intent(in) :: name(*)
      type(Valet_Junction_options), optional :: options
      type(c_ptr), intent(inout) :: junction
    end function

    integer(c_int) function putter(junction, storage, count, ranks, label, transfer) bind(C)
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: junction, storage, ranks
      integer(c_int64_t), value :: count
      character(kind=c_char), intent(in) :: label(*)
      type(c_ptr), intent(inout), optional :: transfer
    end function

    integer(c_int) function getter(junction, storage, label, range, transfer) bind(C)
      import :: c_char, c_int, c_ptr, Valet_Block_range
      type(c_ptr), value :: junction, storage
      character(kind=c_char), intent(in) :: label(*)
      type(Valet_Block_range), intent(in), optional :: range
      type(c_ptr), intent(inout), optional :: transfer
    end function

    integer(c_int) function getter_into(junction, storage_for, data, label, transfer) bind(C)
      import :: c_char, c_funptr, c_int, c_ptr
      type(c_ptr), value :: junction, data
      type(c_funptr), value :: storage_for
      character(kind=c_char), intent(in) :: label(*)
      type(c_ptr), intent(inout), optional :: transfer
    end function

    integer(c_int) function numbered_putter(junction, storage, count, layout, label, transfer) &
        bind(C)
      import :: c_char, c_int, c_int64_t, c_ptr, Valet_Object_layout
      type(c_ptr), value :: junction, storage
      integer(c_int64_t), value :: count
      type(Valet_Object_layout) :: layout
      character(kind=c_char), intent(in) :: label(*)
      type(c_ptr), intent(inout), optional :: transfer
    end function

    integer(c_int) function numbered_getter(junction, storage, layout, label, transfer) bind(C)
      import :: c_char, c_int, c_ptr, Valet_Object_layout
      type(c_ptr), value :: junction, storage
      type(Valet_Object_layout) :: layout
      character(kind=c_char), intent(in) :: label(*)
      type(c_ptr), intent(inout), optional :: transfer
    end function

    integer(c_int) function array_mover(junction, array, layout, element_bytes, label, transfer) &
        bind(C)
      import :: c_char, c_int, c_ptr, c_size_t, Valet_Array, Valet_Layout
      type(c_ptr), value :: junction
      type(Valet_Array), optional :: array
      type(Valet_Layout) :: layout
      integer(c_size_t), value :: element_bytes
      character(kind=c_char), intent(in) :: label(*)
      type(c_ptr), intent(inout), optional :: transfer
    end function
  end interface

contains

  !> The defaults of all options.
  function Valet_Junction_options_default() result(options)
    type(Valet_Junction_options) :: options
    call Valet_Junction_options_init(options, c_sizeof(options))
  end function

  integer(c_int) function Valet_Junction_accept(communicator, name, options, junction)
    integer(c_int), intent(in) :: communicator
    character(*), intent(in) :: name
    type(Valet_Junction_options), optional :: options
    type(c_ptr), intent(inout) :: junction
    procedure(opener), bind(C, name="Valet_Junction_accept_f") :: accept
    Valet_Junction_accept = accept(communicator, trim(name) // c_null_char, options, junction)
  end function

  integer(c_int) function Valet_Junction_connect(communicator, name, options, junction)
    integer(c_int), intent(in) :: communicator
    character(*), intent(in) :: name
    type(Valet_Junction_options), optional :: options
    type(c_ptr), intent(inout) :: junction
    procedure(opener), bind(C, name="Valet_Junction_connect_f") :: connect
    Valet_Junction_connect = connect(communicator, trim(name) // c_null_char, options, junction)
  end function

  integer(c_int) function Valet_Junction_create(communicator, path, options, junction)
    integer(c_int), intent(in) :: communicator
    character(*), intent(in) :: path
    type(Valet_Junction_options), optional :: options
    type(c_ptr), intent(inout) :: junction
    procedure(opener), bind(C, name="Valet_Junction_create_f") :: create
    Valet_Junction_create = create(communicator, trim(path) // c_null_char, options, junction)
  end function

  integer(c_int) function Valet_Junction_open(communicator, path, options, junction)
    integer(c_int), intent(in) :: communicator
    character(*), intent(in) :: path
    type(Valet_Junction_options), optional :: options
    type(c_ptr), intent(inout) :: junction
    procedure(opener), bind(C, name="Valet_Junction_open_f") :: open_file
    Valet_Junction_open = open_file(communicator, trim(path) // c_null_char, options, junction)
  end function

  integer(c_int) function Valet_Junction_put_array(junction, array, layout, element_bytes, label, &
      transfer)
    type(c_ptr), intent(in) :: junction
    type(Valet_Array), optional :: array
    type(Valet_Layout) :: layout
    integer(c_size_t), intent(in) :: element_bytes
    character(*), intent(in) :: label
    type(c_ptr), intent(inout), optional :: transfer
    procedure(array_mover), bind(C, name="Valet_Junction_put_array") :: put_array
    Valet_Junction_put_array = put_array(junction, array, layout, element_bytes, &
      trim(label) // c_null_char, transfer)
  end function

  integer(c_int) function Valet_Junction_get_array(junction, array, layout, element_bytes, label, &
      transfer)
    type(c_ptr), intent(in) :: junction
    type(Valet_Array), optional :: array
    type(Valet_Layout) :: layout
    integer(c_size_t), intent(in) :: element_bytes
    character(*), intent(in) :: label
    type(c_ptr), intent(inout), optional :: transfer
    procedure(array_mover), bind(C, name="Valet_Junction_get_array") :: get_array
    Valet_Junction_get_array = get_array(junction, array, layout, element_bytes, &
      trim(label) // c_null_char, transfer)
  end function

  !> `ranks` is c_null_ptr for a file.
  integer(c_int) function Valet_Junction_put_blocks(junction, storage, count, ranks, label, &
      transfer)
    type(c_ptr), intent(in) :: junction, storage, ranks
    integer(c_int64_t), intent(in) :: count
    character(*), intent(in), optional :: label
    type(c_ptr), intent(inout), optional :: transfer
    procedure(putter), bind(C, name="Valet_Junction_put_blocks") :: put_blocks
    Valet_Junction_put_blocks = put_blocks(junction, storage, count, ranks, in_c(label), transfer)
  end function

  !> Without `range` a rank gets an equal share of a file.
  integer(c_int) function Valet_Junction_get_blocks(junction, storage, label, range, transfer)
    type(c_ptr), intent(in) :: junction, storage
    character(*), intent(in), optional :: label
    type(Valet_Block_range), intent(in), optional :: range
    type(c_ptr), intent(inout), optional :: transfer
    procedure(getter), bind(C, name="Valet_Junction_get_blocks") :: get_blocks
    Valet_Junction_get_blocks = get_blocks(junction, storage, in_c(label), range, transfer)
  end function

  !> `storage_for`: c_funloc of a function with bind(C) that takes `data` as type(c_ptr), value,
  !! and blocks as integer(c_int64_t), value, and returns a storage as type(c_ptr).
  integer(c_int) function Valet_Junction_get_blocks_into(junction, storage_for, data, label, &
      transfer)
    type(c_ptr), intent(in) :: junction, data
    type(c_funptr), intent(in) :: storage_for
    character(*), intent(in), optional :: label
    type(c_ptr), intent(inout), optional :: transfer
    procedure(getter_into), bind(C, name="Valet_Junction_get_blocks_into") :: get_into
    Valet_Junction_get_blocks_into = get_into(junction, storage_for, data, in_c(label), transfer)
  end function

  integer(c_int) function Valet_Junction_put_numbered(junction, storage, count, layout, label, &
      transfer)
    type(c_ptr), intent(in) :: junction, storage
    integer(c_int64_t), intent(in) :: count
    type(Valet_Object_layout) :: layout
    character(*), intent(in), optional :: label
    type(c_ptr), intent(inout), optional :: transfer
    procedure(numbered_putter), bind(C, name="Valet_Junction_put_numbered") :: put_numbered
    Valet_Junction_put_numbered = put_numbered(junction, storage, count, layout, in_c(label), &
      transfer)
  end function

  integer(c_int) function Valet_Junction_get_numbered(junction, storage, layout, label, transfer)
    type(c_ptr), intent(in) :: junction, storage
    type(Valet_Object_layout) :: layout
    character(*), intent(in), optional :: label
    type(c_ptr), intent(inout), optional :: transfer
    procedure(numbered_getter), bind(C, name="Valet_Junction_get_numbered") :: get_numbered
    Valet_Junction_get_numbered = get_numbered(junction, storage, layout, in_c(label), transfer)
  end function

  !> `ranks` is c_null_ptr for a file.
  integer(c_int) function Valet_Junction_put_ragged(junction, storage, count, ranks, label, &
      transfer)
    type(c_ptr), intent(in) :: junction, storage, ranks
    integer(c_int64_t), intent(in) :: count
    character(*), intent(in), optional :: label
    type(c_ptr), intent(inout), optional :: transfer
    procedure(putter), bind(C, name="Valet_Junction_put_ragged") :: put_ragged
    Valet_Junction_put_ragged = put_ragged(junction, storage, count, ranks, in_c(label), transfer)
  end function

  !> Without `range` a rank gets an equal share of a file.
  integer(c_int) function Valet_Junction_get_ragged(junction, storage, label, range, transfer)
    type(c_ptr), intent(in) :: junction, storage
    character(*), intent(in), optional :: label
    type(Valet_Block_range), intent(in), optional :: range
    type(c_ptr), intent(inout), optional :: transfer
    procedure(getter), bind(C, name="Valet_Junction_get_ragged") :: get_ragged
    Valet_Junction_get_ragged = get_ragged(junction, storage, in_c(label), range, transfer)
  end function

  integer(c_int) function Valet_Junction_put_numbered_ragged(junction, storage, count, layout, &
      label, transfer)
    type(c_ptr), intent(in) :: junction, storage
    integer(c_int64_t), intent(in) :: count
    type(Valet_Object_layout) :: layout
    character(*), intent(in), optional :: label
    type(c_ptr), intent(inout), optional :: transfer
    procedure(numbered_putter), bind(C, name="Valet_Junction_put_numbered_ragged") :: put_numbered
    Valet_Junction_put_numbered_ragged = put_numbered(junction, storage, count, layout, &
      in_c(label), transfer)
  end function

  integer(c_int) function Valet_Junction_get_numbered_ragged(junction, storage, layout, label, &
      transfer)
    type(c_ptr), intent(in) :: junction, storage
    type(Valet_Object_layout) :: layout
    character(*), intent(in), optional :: label
    type(c_ptr), intent(inout), optional :: transfer
    procedure(numbered_getter), bind(C, name="Valet_Junction_get_numbered_ragged") :: get_numbered
    Valet_Junction_get_numbered_ragged = get_numbered(junction, storage, layout, in_c(label), &
      transfer)
  end function

  !> A label that ends as in C; an empty one is none.
  function in_c(label) result(text)
    character(*), intent(in), optional :: label
    character(:), allocatable :: text
    text = c_null_char
    if (present(label)) text = trim(label) // c_null_char
  end function

end module valet_junction

! SPDX-License-Identifier: BSD-3-Clause

!> Valet for Fortran: the functions, types and constants of valet.h under their C names.
!!
!! See valet.h for what they do and for their errors. Maps, addresses and counts are passed as
!! arrays: `ranks` is integer(c_int). Untyped data (of a field or buffer, and a mask) and arrays in
!! a type (such as the lists of a Valet_Layout) are type(c_ptr): pass c_loc(x), or c_null_ptr where
!! NULL is allowed. Communicators are the integers of `mpi`, or comm%mpi_val of `mpi_f08`. Counts
!! and slots have 64 bits; ranks and slots start at 0, as in MPI and C.
!!
!! VALET_MPI_FAILURE is returned, on this rank alone, if the communicator has an error handler that
!! returns (MPI_ERRORS_RETURN). Others may be waiting for this rank, so end the job with MPI_Abort.
!! By default a failed MPI call ends the job itself.
module valet
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_f_pointer, c_funptr, c_int, &
    c_int64_t, c_null_char, c_null_ptr, c_ptr, c_ptrdiff_t, c_size_t, c_sizeof
  implicit none
  private

  integer(c_int), parameter, public :: VALET_SUCCESS = 0, VALET_INVALID_ARGUMENT = 1, &
    VALET_RANK_OUT_OF_RANGE = 2, VALET_SLOT_OUT_OF_RANGE = 3, VALET_SLOT_TAKEN_TWICE = 4, &
    VALET_INFEASIBLE = 5, VALET_FIELD_MISMATCH = 6, VALET_BLOCK_SIZE_MISMATCH = 7, &
    VALET_BUDGET_TOO_SMALL = 8, VALET_INACCESSIBLE_MEMORY = 9, VALET_NOT_INITIALIZED = 10, &
    VALET_INVALID_COMMUNICATOR = 11, VALET_OUT_OF_MEMORY = 12, VALET_CORRUPTED = 13, &
    VALET_MPI_FAILURE = 14, VALET_INTERNAL = 15, VALET_CALLBACK_FAILED = 16, &
    VALET_FILE_FAILURE = 17

  integer(c_int), parameter, public :: VALET_METHOD_STREAM = 0, VALET_METHOD_DIRECT = 1, &
    VALET_METHOD_PHASED = 2, VALET_METHOD_CYCLIC = 3, VALET_METHOD_AUTOMATIC = 4
  integer(c_int), parameter, public :: VALET_BALANCE_COUNT = 0, VALET_BALANCE_NUMBERING = 1
  integer(c_int), parameter, public :: VALET_HEURISTIC_FIRST_FIT = 0, &
    VALET_HEURISTIC_MAX_FIRST = 1, VALET_HEURISTIC_RANDOM = 2, &
    VALET_HEURISTIC_FORTUNE_WHEEL = 3, VALET_HEURISTIC_MIN_MAX = 4, &
    VALET_HEURISTIC_CONTINUOUS = 5
  integer(c_int), parameter, public :: VALET_SCHEDULER_DISTRIBUTED = 0, &
    VALET_SCHEDULER_CENTRALIZED = 1
  integer(c_int), parameter, public :: VALET_ORDER_ANY = 0, VALET_ORDER_FILL = 1
  integer(c_int), parameter, public :: VALET_ORDER_STABLE = 2
  integer(c_int), parameter, public :: VALET_NEGATIVE_RANK_REFUSE = 0, VALET_NEGATIVE_RANK_DROP = 1
  integer(c_int), parameter, public :: VALET_EDGE_ORDER_ASCENDING = 0, VALET_EDGE_ORDER_ROTATED = 1
  integer(c_int), parameter, public :: VALET_ALLTOALL_AUTOMATIC = 0, VALET_ALLTOALL_STREAM = 1, &
    VALET_ALLTOALL_SWAPS = 2, VALET_ALLTOALL_BITONIC = 3, VALET_ALLTOALL_PAIRWISE = 4, &
    VALET_ALLTOALL_DIRECT = 5

  !> A slot in the memory of all ranks.
  type, bind(C), public :: Valet_Address
    integer(c_int) :: rank
    integer(c_int64_t) :: slot
  end type

  integer(c_int), parameter, public :: VALET_LOG_DEBUG = 0, VALET_LOG_INFO = 1, &
    VALET_LOG_WARNING = 2

  !> Progress of a migration on this rank.
  type, bind(C), public :: Valet_Progress
    integer(c_int64_t) :: blocks_done
    integer(c_int64_t) :: blocks_total
    integer(c_int64_t) :: bytes_done
    integer(c_int64_t) :: bytes_total
    real(c_double) :: elapsed_seconds
  end type

  type, bind(C), public :: Valet_Stream_options
    integer(c_int) :: window
  end type

  !> `available_bytes` is c_funloc of a function with bind(C) that takes `available_bytes_data` as
  !! type(c_ptr), value, and returns integer(c_size_t).
  type, bind(C), public :: Valet_Phased_options
    integer(c_int) :: heuristic
    integer(c_int) :: scheduler
    integer(c_int) :: parking
    integer(c_int64_t) :: seed
    type(c_funptr) :: available_bytes
    type(c_ptr) :: available_bytes_data
  end type

  type, bind(C), public :: Valet_Cyclic_options
    integer(c_int) :: edge_order
  end type

  !> Start from Valet_Options_default(). `trace` and `transfers` are c_loc of a path that ends with
  !! c_null_char.
  !! `progress` is c_funloc of a subroutine with bind(C) and two arguments: type(Valet_Progress),
  !! intent(in), and `progress_data` as type(c_ptr), value.
  type, bind(C), public :: Valet_Options
    integer(c_size_t) :: struct_size
    integer(c_size_t) :: budget_bytes
    integer(c_int) :: method
    integer(c_int) :: order
    integer(c_int) :: verify
    integer(c_int) :: share_memory
    integer(c_int) :: keep_memory
    integer(c_size_t) :: message_bytes
    integer(c_int) :: alltoall_method
    integer(c_int) :: progress_bar
    type(Valet_Stream_options) :: stream
    type(Valet_Phased_options) :: phased
    type(Valet_Cyclic_options) :: cyclic
    type(c_ptr) :: trace
    type(c_funptr) :: progress
    type(c_ptr) :: progress_data
    integer(c_int) :: negative_rank
    type(c_ptr) :: transfers
  end type

  integer, parameter, public :: VALET_REPORT_METHOD_BYTES = 16, VALET_REPORT_REASON_BYTES = 256

  !> Report of a call for this rank; start from Valet_Report_default(). Valet_String() converts
  !! `method` and `reason` to strings.
  type, bind(C), public :: Valet_Report
    integer(c_size_t) :: struct_size
    integer(c_int) :: ranks
    integer(c_int) :: verified
    integer(c_int) :: plan_from_layout
    integer(c_int64_t) :: block_bytes
    integer(c_int64_t) :: blocks_before
    integer(c_int64_t) :: blocks_after
    integer(c_int64_t) :: blocks_sent
    integer(c_int64_t) :: blocks_received
    integer(c_int64_t) :: blocks_pulled
    integer(c_int64_t) :: blocks_dropped
    integer(c_int64_t) :: bytes_sent
    integer(c_int64_t) :: messages
    integer(c_int64_t) :: credits
    integer(c_int64_t) :: local_copies
    integer(c_int64_t) :: misplaced
    integer(c_int64_t) :: swaps
    integer(c_int64_t) :: phases
    integer(c_int64_t) :: detours
    integer(c_int64_t) :: steps
    integer(c_int64_t) :: neighbours
    integer(c_int64_t) :: budget_bytes
    integer(c_int64_t) :: peak_extra_bytes
    integer(c_int64_t) :: extra_bytes_bound
    integer(c_int64_t) :: shared_bytes
    integer(c_int64_t) :: segments
    integer(c_int64_t) :: periods
    real(c_double) :: plan_seconds
    real(c_double) :: exchange_seconds
    real(c_double) :: local_seconds
    real(c_double) :: verify_seconds
    real(c_double) :: waiting_seconds
    real(c_double) :: gather_seconds
    real(c_double) :: solve_seconds
    real(c_double) :: scatter_seconds
    real(c_double) :: seconds
    character(kind=c_char) :: method(VALET_REPORT_METHOD_BYTES)
    character(kind=c_char) :: reason(VALET_REPORT_REASON_BYTES)
  end type

  integer(c_int), parameter, public :: VALET_ROW_MAJOR = 0, VALET_COLUMN_MAJOR = 1

  ! Arguments of types with pointers have no intent(in): with it gfortran assumes that a call
  ! neither reads nor writes the target of a type(c_ptr) inside them.

  !> A block-cyclic layout of an array, the same on all ranks. Lists are c_loc of arrays with one
  !! entry per dimension, in the order of the array's indices; first_ranks and ranks may be
  !! c_null_ptr. Kinds: c_int64_t for extents and block_sizes, c_int for the others.
  type, bind(C), public :: Valet_Layout
    integer(c_int) :: dimensions
    type(c_ptr) :: extents
    type(c_ptr) :: block_sizes
    type(c_ptr) :: grid
    integer(c_int) :: rank_order = VALET_COLUMN_MAJOR
    type(c_ptr) :: first_ranks = c_null_ptr
    type(c_ptr) :: ranks = c_null_ptr
  end type

  !> What the lists of a layout point to that Valet_Layout_from_descriptor() makes: a target, which
  !! lives as long as the layout.
  type, bind(C), public :: Valet_Layout_lists
    integer(c_int64_t) :: extents(2)
    integer(c_int64_t) :: block_sizes(2)
    integer(c_int) :: grid(2)
    integer(c_int) :: first_ranks(2)
  end type

  !> This rank's part of a distributed array: `data` is its c_loc, with `bytes` bytes. `strides`, in
  !! elements, is c_loc of one integer(c_int64_t) per dimension, or c_null_ptr if they are
  !! contiguous.
  type, bind(C), public :: Valet_Array
    type(c_ptr) :: data
    integer(c_size_t) :: bytes
    integer(c_int) :: order = VALET_COLUMN_MAJOR
    type(c_ptr) :: strides = c_null_ptr
  end type

  !> A distribution of numbered objects over ranks: blocks of `block_size` in turn (0: one block per
  !! rank) over the first `ranks` ranks (0: all). In place of both, `tiling` is c_loc of a
  !! Valet_Layout whose elements are the objects, numbered as `numbering` has it.
  type, bind(C), public :: Valet_Object_layout
    integer(c_int64_t) :: block_size = 0
    integer(c_int) :: ranks = 0
    type(c_ptr) :: tiling = c_null_ptr
    integer(c_int) :: numbering = VALET_COLUMN_MAJOR
  end type

  public :: Valet_Options_default, Valet_Options_init, Valet_Report_default, Valet_Report_init, &
    Valet_Report_to_string, Valet_Report_to_json, Valet_Summed_over_ranks, &
    Valet_Storage_create, Valet_Storage_add_field, Valet_Storage_add_array, Valet_Storage_refuse, &
    Valet_Storage_grow_by, Valet_Storage_free, &
    Valet_Plan_to_ranks, &
    Valet_Plan_to_slots, Valet_Plan_to_layout, Valet_Plan_free, Valet_Repair, &
    Valet_Resize, Valet_Plan_blocks_after, Valet_Plan_required_slots, Valet_Execute, Valet_Alltoallv_in_place, &
    Valet_Layout_from_descriptor, Valet_Layout_local_extents, &
    Valet_Redistribute, Valet_Redistribute_in_place, Valet_Set_log_callback, Valet_Version, &
    Valet_Configuration_to_string, Valet_Configuration_to_json, Valet_Error_message, Valet_String

  interface
    !> Called by Valet_Options_default().
    subroutine Valet_Options_init(options, struct_size) bind(C, name="Valet_Options_init")
      import :: c_size_t, Valet_Options
      type(Valet_Options) :: options
      integer(c_size_t), value :: struct_size
    end subroutine

    !> Called by Valet_Report_default().
    subroutine Valet_Report_init(report, struct_size) bind(C, name="Valet_Report_init")
      import :: c_size_t, Valet_Report
      type(Valet_Report) :: report
      integer(c_size_t), value :: struct_size
    end subroutine

    !> Combines the reports of all ranks; initialise `total` with Valet_Report_default().
    integer(c_int) function Valet_Summed_over_ranks(communicator, report, total) &
        bind(C, name="Valet_Summed_over_ranks_f")
      import :: c_int, Valet_Report
      integer(c_int), value :: communicator
      type(Valet_Report), intent(in) :: report
      type(Valet_Report), intent(inout) :: total
    end function

    type(c_ptr) function Valet_Storage_create() bind(C, name="Valet_Storage_create")
      import :: c_ptr
    end function

    integer(c_int) function add_field(storage, data, slots, row_bytes, slot_stride_bytes, label) &
        bind(C, name="Valet_Storage_add_field")
      import :: c_char, c_int, c_int64_t, c_ptr, c_ptrdiff_t, c_size_t
      type(c_ptr), value :: storage, data
      integer(c_int64_t), value :: slots
      integer(c_size_t), value :: row_bytes
      integer(c_ptrdiff_t), value :: slot_stride_bytes
      character(kind=c_char), intent(in) :: label(*)
    end function

    integer(c_int) function add_array(storage, data, slots, slot_stride_bytes, element_bytes, &
        dimensions, extents, stride_bytes, label) bind(C, name="Valet_Storage_add_array")
      import :: c_char, c_int, c_int64_t, c_ptr, c_ptrdiff_t, c_size_t
      type(c_ptr), value :: storage, data
      integer(c_int64_t), value :: slots
      integer(c_ptrdiff_t), value :: slot_stride_bytes
      integer(c_size_t), value :: element_bytes
      integer(c_int), value :: dimensions
      integer(c_size_t), intent(in) :: extents(*)
      integer(c_ptrdiff_t), intent(in) :: stride_bytes(*)
      character(kind=c_char), intent(in) :: label(*)
    end function

    integer(c_int) function refuse(storage, why) bind(C, name="Valet_Storage_refuse")
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: storage
      character(kind=c_char), intent(in) :: why(*)
    end function

    !> `grow`: c_null_funptr, or c_funloc of a function with bind(C) that takes `data` as
    !! type(c_ptr), value, and the slots as integer(c_int64_t), value, and returns a storage with as
    !! many as type(c_ptr); c_null_ptr if it fails.
    integer(c_int) function Valet_Storage_grow_by(storage, grow, data) &
        bind(C, name="Valet_Storage_grow_by")
      import :: c_funptr, c_int, c_ptr
      type(c_ptr), value :: storage, data
      type(c_funptr), value :: grow
    end function

    subroutine Valet_Storage_free(storage) bind(C, name="Valet_Storage_free")
      import :: c_ptr
      type(c_ptr), value :: storage
    end subroutine

    !> `mask`: c_null_ptr, or one byte per slot.
    integer(c_int) function Valet_Plan_to_ranks(communicator, storage, count, mask, ranks, &
        options, plan) bind(C, name="Valet_Plan_to_ranks_f")
      import :: c_int, c_int64_t, c_ptr, Valet_Options
      integer(c_int), value :: communicator
      type(c_ptr), value :: storage, mask
      integer(c_int64_t), value :: count
      integer(c_int), intent(in) :: ranks(*)
      type(Valet_Options), optional :: options
      type(c_ptr), intent(inout) :: plan
    end function

    integer(c_int) function Valet_Plan_to_slots(communicator, storage, count, mask, addresses, &
        options, plan) bind(C, name="Valet_Plan_to_slots_f")
      import :: c_int, c_int64_t, c_ptr, Valet_Address, Valet_Options
      integer(c_int), value :: communicator
      type(c_ptr), value :: storage, mask
      integer(c_int64_t), value :: count
      type(Valet_Address), intent(in) :: addresses(*)
      type(Valet_Options), optional :: options
      type(c_ptr), intent(inout) :: plan
    end function

    !> `mask`: c_null_ptr, or one byte per slot. `ranks` is corrected in place.
    integer(c_int) function Valet_Repair(communicator, count, mask, ranks, slots, changed, &
        changed_in_all) bind(C, name="Valet_Repair_f")
      import :: c_int, c_int64_t, c_ptr
      integer(c_int), value :: communicator
      integer(c_int64_t), value :: count, slots
      type(c_ptr), value :: mask
      integer(c_int), intent(inout) :: ranks(*)
      integer(c_int64_t), intent(out), optional :: changed, changed_in_all
    end function

    !> `released`: c_null_funptr, or c_funloc of a subroutine with bind(C) and three arguments by
    !! value: the first slot and the number of slots, integer(c_int64_t), counted from 0, and `data`.
    integer(c_int) function Valet_Resize(communicator, storage, count, active_before, &
        active_after, balance, weights, released, data, options, report) &
        bind(C, name="Valet_Resize_f")
      import :: c_double, c_funptr, c_int, c_int64_t, c_ptr, Valet_Options, Valet_Report
      integer(c_int), value :: communicator, active_before, active_after, balance
      type(c_ptr), value :: storage, data
      integer(c_int64_t), intent(inout) :: count
      real(c_double), intent(in), optional :: weights(*)
      type(c_funptr), value :: released
      type(Valet_Options), optional :: options
      type(Valet_Report), intent(inout), optional :: report
    end function

    !> Without `from` the objects are numbered by rank and slot.
    integer(c_int) function Valet_Plan_to_layout(communicator, storage, count, from, to, options, &
        plan) bind(C, name="Valet_Plan_to_layout_f")
      import :: c_int, c_int64_t, c_ptr, Valet_Object_layout, Valet_Options
      integer(c_int), value :: communicator
      type(c_ptr), value :: storage
      integer(c_int64_t), value :: count
      type(Valet_Object_layout), optional :: from
      type(Valet_Object_layout) :: to
      type(Valet_Options), optional :: options
      type(c_ptr), intent(inout) :: plan
    end function

    subroutine Valet_Plan_free(plan) bind(C, name="Valet_Plan_free")
      import :: c_ptr
      type(c_ptr), value :: plan
    end subroutine

    integer(c_int64_t) function Valet_Plan_blocks_after(plan) &
        bind(C, name="Valet_Plan_blocks_after")
      import :: c_int64_t, c_ptr
      type(c_ptr), value :: plan
    end function

    integer(c_int64_t) function Valet_Plan_required_slots(plan) &
        bind(C, name="Valet_Plan_required_slots")
      import :: c_int64_t, c_ptr
      type(c_ptr), value :: plan
    end function

    integer(c_int) function Valet_Execute(plan, storage, report) bind(C, name="Valet_Execute")
      import :: c_int, c_ptr, Valet_Report
      type(c_ptr), value :: plan, storage
      type(Valet_Report), intent(inout), optional :: report
    end function

    !> MPI_Alltoallv inside one buffer. If recv_counts is omitted, Valet determines it.
    integer(c_int) function Valet_Alltoallv_in_place(communicator, buffer, buffer_bytes, &
        send_counts, recv_counts, element_bytes, any_order, options, report) &
        bind(C, name="Valet_Alltoallv_in_place_f")
      import :: c_int, c_int64_t, c_ptr, c_size_t, Valet_Options, Valet_Report
      integer(c_int), value :: communicator
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: buffer_bytes
      integer(c_int64_t), intent(in) :: send_counts(*)
      integer(c_int64_t), intent(in), optional :: recv_counts(*)
      integer(c_size_t), value :: element_bytes
      integer(c_int), value :: any_order
      type(Valet_Options), optional :: options
      type(Valet_Report), intent(inout), optional :: report
    end function

    !> The layout of a dense array of ScaLAPACK's. `rank_order` is that of BLACS_GRIDINIT,
    !! VALET_ROW_MAJOR by default there.
    integer(c_int) function Valet_Layout_from_descriptor(descriptor, grid_rows, grid_columns, &
        rank_order, lists, layout) bind(C, name="Valet_Layout_from_descriptor")
      import :: c_int, Valet_Layout, Valet_Layout_lists
      integer(c_int), intent(in) :: descriptor(9)
      integer(c_int), value :: grid_rows, grid_columns, rank_order
      type(Valet_Layout_lists), intent(inout), target :: lists
      type(Valet_Layout), intent(inout) :: layout
    end function

    !> The shape of a rank's part.
    integer(c_int) function Valet_Layout_local_extents(layout, rank, extents) &
        bind(C, name="Valet_Layout_local_extents")
      import :: c_int, c_int64_t, Valet_Layout
      type(Valet_Layout) :: layout
      integer(c_int), value :: rank
      integer(c_int64_t), intent(inout) :: extents(*)
    end function

    !> Copies an array from one layout into an array with another. Ranks outside the grid of `from`
    !! omit `source`; ranks outside the grid of `to` omit `target`.
    integer(c_int) function Valet_Redistribute(communicator, from, to, element_bytes, source, &
        target, options, report) bind(C, name="Valet_Redistribute_f")
      import :: c_int, c_size_t, Valet_Array, Valet_Layout, Valet_Options, Valet_Report
      integer(c_int), value :: communicator
      type(Valet_Layout) :: from, to
      integer(c_size_t), value :: element_bytes
      type(Valet_Array), optional :: source, target
      type(Valet_Options), optional :: options
      type(Valet_Report), intent(inout), optional :: report
    end function

    !> The same inside one array; ranks outside both grids omit it.
    integer(c_int) function Valet_Redistribute_in_place(communicator, from, to, element_bytes, &
        array, options, report) bind(C, name="Valet_Redistribute_in_place_f")
      import :: c_int, c_size_t, Valet_Array, Valet_Layout, Valet_Options, Valet_Report
      integer(c_int), value :: communicator
      type(Valet_Layout) :: from, to
      integer(c_size_t), value :: element_bytes
      type(Valet_Array), optional :: array
      type(Valet_Options), optional :: options
      type(Valet_Report), intent(inout), optional :: report
    end function

    !> `callback`: c_null_funptr, or c_funloc of a subroutine with bind(C) and three arguments: the
    !! level as integer(c_int), value; the message as character(kind=c_char), dimension(*), ended by
    !! c_null_char; `data` as type(c_ptr), value.
    subroutine Valet_Set_log_callback(callback, data) bind(C, name="Valet_Set_log_callback")
      import :: c_funptr, c_ptr
      type(c_funptr), value :: callback
      type(c_ptr), value :: data
    end subroutine

    type(c_ptr) function library_version() bind(C, name="Valet_Version")
      import :: c_ptr
    end function

    type(c_ptr) function error_message() bind(C, name="Valet_Error_message")
      import :: c_ptr
    end function

    pure integer(c_size_t) function length_of(message) bind(C, name="strlen")
      import :: c_ptr, c_size_t
      type(c_ptr), intent(in), value :: message
    end function
  end interface

  abstract interface
    integer(c_size_t) function report_writer(report, text, bytes) bind(C)
      import :: c_char, c_size_t, Valet_Report
      type(Valet_Report), intent(in) :: report
      character(kind=c_char), intent(inout) :: text(*)
      integer(c_size_t), value :: bytes
    end function

    integer(c_size_t) function configuration_writer(text, bytes) bind(C)
      import :: c_char, c_size_t
      character(kind=c_char), intent(inout) :: text(*)
      integer(c_size_t), value :: bytes
    end function
  end interface

contains

  !> The defaults of all options.
  function Valet_Options_default() result(options)
    type(Valet_Options) :: options
    call Valet_Options_init(options, c_sizeof(options))
  end function

  !> `label` is the same on all ranks, used in messages.
  integer(c_int) function Valet_Storage_add_field(storage, data, slots, row_bytes, &
      slot_stride_bytes, label)
    type(c_ptr), intent(in) :: storage, data
    integer(c_int64_t), intent(in) :: slots
    integer(c_size_t), intent(in) :: row_bytes
    integer(c_ptrdiff_t), intent(in) :: slot_stride_bytes
    character(*), intent(in) :: label
    Valet_Storage_add_field = add_field(storage, data, slots, row_bytes, slot_stride_bytes, &
      trim(label) // c_null_char)
  end function

  !> Rows that are arrays in any strides; `extents` and `stride_bytes` have an entry for each of
  !! their dimensions, in the order in which they are packed, which is the same on all ranks.
  integer(c_int) function Valet_Storage_add_array(storage, data, slots, slot_stride_bytes, &
      element_bytes, extents, stride_bytes, label)
    type(c_ptr), intent(in) :: storage, data
    integer(c_int64_t), intent(in) :: slots
    integer(c_ptrdiff_t), intent(in) :: slot_stride_bytes, stride_bytes(:)
    integer(c_size_t), intent(in) :: element_bytes, extents(:)
    character(*), intent(in) :: label
    Valet_Storage_add_array = add_array(storage, data, slots, slot_stride_bytes, element_bytes, &
      size(extents), extents, stride_bytes, trim(label) // c_null_char)
  end function

  integer(c_int) function Valet_Storage_refuse(storage, why)
    type(c_ptr), intent(in) :: storage
    character(*), intent(in) :: why
    Valet_Storage_refuse = refuse(storage, trim(why) // c_null_char)
  end function

  !> An empty report, to be filled by a call.
  function Valet_Report_default() result(report)
    type(Valet_Report) :: report
    call Valet_Report_init(report, c_sizeof(report))
  end function

  !> The report as a few readable lines; empty, with an error in Valet_Error_message(), if
  !! struct_size is wrong.
  function Valet_Report_to_string(report) result(text)
    type(Valet_Report), intent(in) :: report
    character(:), allocatable :: text
    procedure(report_writer), bind(C, name="Valet_Report_to_string") :: to_string
    text = text_of(report, to_string)
  end function

  !> The report as one JSON object; empty likewise.
  function Valet_Report_to_json(report) result(text)
    type(Valet_Report), intent(in) :: report
    character(:), allocatable :: text
    procedure(report_writer), bind(C, name="Valet_Report_to_json") :: to_json
    text = text_of(report, to_json)
  end function

  !> The report as text, written by `write`.
  function text_of(report, write) result(text)
    type(Valet_Report), intent(in) :: report
    procedure(report_writer) :: write
    character(:), allocatable :: text
    character(kind=c_char), allocatable :: characters(:)
    character(kind=c_char) :: nothing(1)
    integer(c_size_t) :: length
    allocate (characters(write(report, nothing, 0_c_size_t) + 1))
    length = write(report, characters, size(characters, kind=c_size_t))
    text = Valet_String(characters(:length + 1))
  end function

  !> How the library was built, and its MPI, one fact a line.
  function Valet_Configuration_to_string() result(text)
    character(:), allocatable :: text
    procedure(configuration_writer), bind(C, name="Valet_Configuration_to_string") :: to_string
    text = configuration_text(to_string)
  end function

  !> The same as one JSON object.
  function Valet_Configuration_to_json() result(text)
    character(:), allocatable :: text
    procedure(configuration_writer), bind(C, name="Valet_Configuration_to_json") :: to_json
    text = configuration_text(to_json)
  end function

  !> The configuration as text, written by `write`.
  function configuration_text(write) result(text)
    procedure(configuration_writer) :: write
    character(:), allocatable :: text
    character(kind=c_char), allocatable :: characters(:)
    character(kind=c_char) :: nothing(1)
    integer(c_size_t) :: length
    allocate (characters(write(nothing, 0_c_size_t) + 1))
    length = write(characters, size(characters, kind=c_size_t))
    text = Valet_String(characters(:length + 1))
  end function

  !> The version of the library that runs, such as 0.1.0.
  function Valet_Version() result(text)
    character(:), allocatable :: text
    text = string_at(library_version())
  end function

  !> The text of the last error on this thread; empty if there was none.
  function Valet_Error_message() result(text)
    character(:), allocatable :: text
    text = string_at(error_message())
  end function

  !> The text of C that begins at an address.
  function string_at(message) result(text)
    type(c_ptr), intent(in) :: message
    character(:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)
    call c_f_pointer(message, characters, [length_of(message)])
    text = Valet_String(characters)
  end function

  !> The text in an array of characters, up to the first c_null_char.
  pure function Valet_String(characters) result(text)
    character(kind=c_char), intent(in) :: characters(:)
    character(:), allocatable :: text
    integer :: k, length
    length = findloc(characters, c_null_char, dim=1) - 1
    if (length < 0) length = size(characters)
    allocate (character(length) :: text)
    do k = 1, length
      text(k:k) = characters(k)
    end do
  end function

end module valet

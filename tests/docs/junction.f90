! SPDX-License-Identifier: BSD-3-Clause

! The snippets in Fortran of the page about data between jobs; accept_analysis() is not run.

subroutine accept_analysis(comm, analysis) bind(C, name='fortran_accepted')
  use, intrinsic :: iso_c_binding
  use valet
  use valet_junction
  implicit none
  integer(c_int), value :: comm
  type(c_ptr), intent(out) :: analysis
  integer(c_int) :: code

  ! A simulation waits for its analysis, another job that connects to 'flow'.
  code = Valet_Junction_accept(comm, 'flow', junction=analysis)
  if (code /= VALET_SUCCESS) print '(a)', Valet_Error_message()
end subroutine

subroutine simulate(analysis, n, part, bytes, particles, count, owners, lists) &
    bind(C, name='fortran_simulated')
  use, intrinsic :: iso_c_binding
  use valet
  use valet_junction
  implicit none
  type(c_ptr), value :: analysis, part, particles, lists
  integer(c_int64_t), intent(in), target :: n
  integer(c_size_t), value :: bytes
  integer(c_int64_t), value :: count
  integer(c_int), intent(inout), target :: owners(count)
  type(Valet_Layout) :: pieces
  type(Valet_Object_layout) :: equal_shares
  type(c_ptr) :: transfer
  integer(c_int64_t), target :: piece
  integer(c_int), target :: ranks
  integer(c_int) :: code, ready
  integer :: k, step

  ! It puts its part of an array of n elements, in pieces, and computes meanwhile.
  ranks = Valet_Junction_ranks(analysis)
  piece = (n + ranks - 1)/ranks
  pieces = Valet_Layout(1, c_loc(n), c_loc(piece), c_loc(ranks))
  code = Valet_Junction_put_array(analysis, Valet_Array(part, bytes), pieces, 8_c_size_t, &
    'density', transfer)
  do step = 1, 10
    code = Valet_Junction_is_ready(transfer, ready)
    if (ready == 1) exit
  end do
  code = Valet_Junction_wait(transfer)
  if (code /= VALET_SUCCESS) print '(a)', Valet_Error_message()

  ! Each particle goes to a rank of the analysis. Without a handle a call waits.
  owners = [(mod(k, Valet_Junction_other_ranks(analysis)), k=0, int(count) - 1)]
  code = Valet_Junction_put_blocks(analysis, particles, count, c_loc(owners))
  code = Valet_Junction_put_blocks(analysis, particles, count, c_loc(owners))

  ! The same in an order that both know, and blocks of different sizes.
  equal_shares = Valet_Object_layout(block_size=0)
  code = Valet_Junction_put_numbered(analysis, particles, count, equal_shares)
  code = Valet_Junction_put_numbered_ragged(analysis, lists, count, equal_shares)
  code = Valet_Junction_put_ragged(analysis, lists, count, c_loc(owners))
  code = Valet_Junction_close(analysis)
end subroutine

subroutine analyse(comm, n, part, bytes, particles, room_for, room, lists, count) &
    bind(C, name='fortran_analysed')
  use, intrinsic :: iso_c_binding
  use valet
  use valet_junction
  implicit none
  integer(c_int), value :: comm
  integer(c_int64_t), intent(in), target :: n
  type(c_ptr), value :: part, particles, room, lists
  integer(c_size_t), value :: bytes
  type(c_funptr), value :: room_for
  integer(c_int64_t), intent(out) :: count
  type(Valet_Junction_options) :: options
  type(Valet_Layout) :: in_turn
  type(Valet_Object_layout) :: dealt
  type(Valet_Report) :: report
  type(c_ptr) :: simulation, transfer
  integer(c_int64_t), target :: one
  integer(c_int), target :: ranks
  integer(c_int) :: code

  ! The analysis connects. Over an intercommunicator both sides do that.
  options = Valet_Junction_options_default()
  options%budget_bytes = 2**20
  code = Valet_Junction_connect(comm, 'flow', options, simulation)

  ! It gets the same array element by element in turn.
  ranks = Valet_Junction_ranks(simulation)
  one = 1
  in_turn = Valet_Layout(1, c_loc(n), c_loc(one), c_loc(ranks))
  code = Valet_Junction_get_array(simulation, Valet_Array(part, bytes), in_turn, 8_c_size_t, &
    'density')

  ! Particles into a storage that has room, and into one that a function makes for them.
  code = Valet_Junction_get_blocks(simulation, particles)
  code = Valet_Junction_get_blocks_into(simulation, room_for, room)

  dealt = Valet_Object_layout(block_size=1)
  code = Valet_Junction_get_numbered(simulation, particles, dealt)
  code = Valet_Junction_get_numbered_ragged(simulation, lists, dealt)

  report = Valet_Report_default()
  code = Valet_Junction_get_ragged(simulation, lists, transfer=transfer)
  code = Valet_Junction_wait(transfer, report)  ! there are report%blocks_after lists
  code = Valet_Junction_close(simulation)

  count = report%blocks_after
end subroutine

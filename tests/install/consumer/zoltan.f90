! SPDX-License-Identifier: BSD-3-Clause

!> 1 where Zoltan behind the module answers.
integer(c_int) function fortran_partitions(communicator) bind(C)
  use, intrinsic :: iso_c_binding
  use valet
  use valet_zoltan
  implicit none
  integer(c_int), value :: communicator
  integer, parameter :: slots = 10
  integer(c_int64_t), target :: id(slots)
  type(c_ptr) :: zoltan, storage, attached
  integer(c_int) :: code

  id = 7
  zoltan = Valet_Zoltan_create(communicator)
  storage = Valet_Storage_create()
  code = Valet_Storage_add_field(storage, c_loc(id), int(slots, c_int64_t), 8_c_size_t, &
    8_c_ptrdiff_t, 'id')
  code = max(code, Valet_Set_Param(zoltan, 'LB_METHOD', 'CYCLIC'))
  code = max(code, Valet_Zoltan_attach(zoltan, 3_c_int64_t, storage, attached=attached))
  code = max(code, Valet_Attached_partition(attached))
  fortran_partitions = merge(1_c_int, 0_c_int, code == VALET_SUCCESS)
  call Valet_Attached_free(attached)
  call Valet_Storage_free(storage)
  call Valet_Zoltan_destroy(zoltan)
end function

! SPDX-License-Identifier: BSD-3-Clause

!> Executions of a plan in parts, and of one that is bound to its storage, for Fortran: functions of
!! plan.h under their C names. Used with the module `valet`.
module valet_execution
  use, intrinsic :: iso_c_binding, only: c_int, c_ptr
  use valet, only: Valet_Report
  implicit none
  private

  public :: Valet_Plan_bind, Valet_Execute_bound, Valet_Execution_start, &
    Valet_Execution_start_bound, Valet_Execution_progress, Valet_Execution_wait

  interface
    integer(c_int) function Valet_Plan_bind(plan, storage) bind(C, name="Valet_Plan_bind")
      import :: c_int, c_ptr
      type(c_ptr), value :: plan, storage
    end function

    integer(c_int) function Valet_Execute_bound(plan, report) bind(C, name="Valet_Execute_bound")
      import :: c_int, c_ptr, Valet_Report
      type(c_ptr), value :: plan
      type(Valet_Report), intent(inout), optional :: report
    end function

    integer(c_int) function Valet_Execution_start(plan, storage, execution) &
        bind(C, name="Valet_Execution_start")
      import :: c_int, c_ptr
      type(c_ptr), value :: plan, storage
      type(c_ptr), intent(inout) :: execution
    end function

    integer(c_int) function Valet_Execution_start_bound(plan, execution) &
        bind(C, name="Valet_Execution_start_bound")
      import :: c_int, c_ptr
      type(c_ptr), value :: plan
      type(c_ptr), intent(inout) :: execution
    end function

    !> `done` becomes 1 when only Valet_Execution_wait() is left to call, else 0.
    integer(c_int) function Valet_Execution_progress(execution, done) &
        bind(C, name="Valet_Execution_progress")
      import :: c_int, c_ptr
      type(c_ptr), value :: execution
      integer(c_int), intent(out), optional :: done
    end function

    integer(c_int) function Valet_Execution_wait(execution, report) &
        bind(C, name="Valet_Execution_wait")
      import :: c_int, c_ptr, Valet_Report
      type(c_ptr), value :: execution
      type(Valet_Report), intent(inout), optional :: report
    end function
  end interface

end module valet_execution

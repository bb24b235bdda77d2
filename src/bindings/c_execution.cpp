// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/c_call.hpp"

#include <memory>

using namespace valet::c;

namespace {

valet::Execution& execution_of(Valet_Execution* execution) {
  require_pointer(execution, "the execution", "make one by Valet_Execution_start()");
  return execution->execution;
}

template <class Start>
int start(Valet_Execution** execution, Start&& begin) {
  return guarded([&] {
    require_place(execution);
    *execution = new Valet_Execution{begin()};
  });
}

}  // namespace

int Valet_Plan_bind(Valet_Plan* plan, const Valet_Storage* storage) {
  return guarded([&] { plan_of(plan).bind(to_storage(storage)); });
}

int Valet_Execute_bound(Valet_Plan* plan, Valet_Report* report) {
  return guarded([&] {
    require_report(report);
    write_report(valet::execute(plan_of(plan)), report);
  });
}

int Valet_Execution_start(Valet_Plan* plan, const Valet_Storage* storage,
                          Valet_Execution** execution) {
  return start(execution, [&] { return valet::start(plan_of(plan), to_storage(storage)); });
}

int Valet_Execution_start_bound(Valet_Plan* plan, Valet_Execution** execution) {
  return start(execution, [&] { return valet::start(plan_of(plan)); });
}

int Valet_Execution_progress(Valet_Execution* execution, int* done) {
  return guarded([&] {
    const bool is_done = execution_of(execution).progress();
    if (done != nullptr) *done = is_done ? 1 : 0;
  });
}

int Valet_Execution_wait(Valet_Execution* execution, Valet_Report* report) {
  const std::unique_ptr<Valet_Execution> ends(execution);
  return guarded([&] {
    const valet::Report done = execution_of(execution).wait();
    require_report(report);
    write_report(done, report);
  });
}

// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/c_call.hpp"
#include <valet/resize.hpp>

using namespace valet::c;

namespace {

/// The arguments of a call, as C++ has them.
template <class Storage>
struct ResizeCall {
  Storage storage;
  valet::ResizeOptions options;
};

/// Both functions, which differ in the storage.
template <class Handle>
int resize(MPI_Comm communicator, const Handle* storage, uint64_t* count, int active_before,
           int active_after, int balance, const double* weights, Valet_Released_fn* released,
           void* data, const Valet_Options* options, Valet_Report* report) {
  return guarded([&] {
    using Call = ResizeCall<decltype(to_storage(storage))>;
    const Call call = agreed(communicator, options, [&](int, const ChosenOptions& chosen) {
      require_pointer(count, "the number of blocks", "give the address of a uint64_t");
      require_number(*count, "count");
      require_report(report);
      if (balance != VALET_BALANCE_COUNT && balance != VALET_BALANCE_NUMBERING)
        refuse("unknown balance ", balance,
               "; give VALET_BALANCE_COUNT or VALET_BALANCE_NUMBERING");
      Call made{to_storage(storage), {}};
      made.options.balance = static_cast<valet::ResizeBalance>(balance);
      if (weights != nullptr) made.options.weights = {weights, static_cast<std::size_t>(*count)};
      if (released != nullptr)
        made.options.released = [released, data](std::uint64_t first, std::uint64_t slots) {
          released(first, slots, data);
        };
      made.options.migration = chosen.options;
      return made;
    });
    const valet::ResizeResult done = valet::resize(communicator, call.storage, *count,
                                                   active_before, active_after, call.options);
    *count = done.count;
    write_report(done.report, report);
  });
}

}  // namespace

int Valet_Resize(MPI_Comm communicator, const Valet_Storage* storage, uint64_t* count,
                 int active_before, int active_after, int balance, const double* weights,
                 Valet_Released_fn* released, void* data, const Valet_Options* options,
                 Valet_Report* report) {
  return resize(communicator, storage, count, active_before, active_after, balance, weights,
                released, data, options, report);
}

int Valet_Ragged_resize(MPI_Comm communicator, const Valet_Ragged_storage* storage, uint64_t* count,
                        int active_before, int active_after, int balance, const double* weights,
                        const Valet_Options* options, Valet_Report* report) {
  return resize(communicator, storage, count, active_before, active_after, balance, weights,
                nullptr, nullptr, options, report);
}

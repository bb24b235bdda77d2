// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/c_call.hpp"
#include <valet/p4est.h>
#include <valet/p4est/transfer.hpp>

namespace {

using namespace valet::p4est;

/// Agrees on the options, after check(), and calls use(options).
template <class Check, class Use>
int with_options(MPI_Comm communicator, const Valet_Options* options, Check&& check, Use&& use) {
  return valet::c::guarded([&] {
    use(valet::c::agreed(communicator, options, [&](int, const valet::c::ChosenOptions& given) {
      check();
      return valet::c::to_alltoall_options(given);
    }));
  });
}

/// What a transfer gives back: a report, or an execution under way.
template <class Transfer>
int give(MPI_Comm communicator, const Valet_Options* options, Valet_Report* report,
         Transfer&& transfer) {
  return with_options(
      communicator, options, [&] { valet::c::require_report(report); },
      [&](const auto& chosen) { valet::c::write_report(transfer(chosen), report); });
}
template <class Begin>
int give(MPI_Comm communicator, const Valet_Options* options, Valet_Execution** execution,
         Begin&& begin) {
  return with_options(
      communicator, options, [&] { valet::c::require_place(execution); },
      [&](const auto& chosen) { *execution = new Valet_Execution{begin(chosen)}; });
}

}  // namespace

int Valet_P4est_transfer_fixed(const int64_t* dest_gfq, const int64_t* src_gfq,
                               MPI_Comm communicator, void* data, size_t capacity_bytes,
                               size_t bytes_each, const Valet_Options* options,
                               Valet_Report* report) {
  return give(communicator, options, report, [&](const auto& chosen) {
    return transfer_fixed(dest_gfq, src_gfq, communicator, data, capacity_bytes, bytes_each,
                          chosen);
  });
}

int Valet_P4est_transfer_custom(const int64_t* dest_gfq, const int64_t* src_gfq,
                                MPI_Comm communicator, void* data, size_t capacity_bytes,
                                const int* src_sizes, const int* dest_sizes,
                                const Valet_Options* options, Valet_Report* report) {
  return give(communicator, options, report, [&](const auto& chosen) {
    return transfer_custom(dest_gfq, src_gfq, communicator, data, capacity_bytes, src_sizes,
                           dest_sizes, chosen);
  });
}

int Valet_P4est_transfer_items(const int64_t* dest_gfq, const int64_t* src_gfq,
                               MPI_Comm communicator, void* data, size_t capacity_bytes,
                               const int* src_counts, const int* dest_counts, size_t item_bytes,
                               const Valet_Options* options, Valet_Report* report) {
  return give(communicator, options, report, [&](const auto& chosen) {
    return transfer_items(dest_gfq, src_gfq, communicator, data, capacity_bytes, src_counts,
                          dest_counts, item_bytes, chosen);
  });
}

int Valet_P4est_transfer_fixed_begin(const int64_t* dest_gfq, const int64_t* src_gfq,
                                     MPI_Comm communicator, void* data, size_t capacity_bytes,
                                     size_t bytes_each, const Valet_Options* options,
                                     Valet_Execution** execution) {
  return give(communicator, options, execution, [&](const auto& chosen) {
    return transfer_fixed_begin(dest_gfq, src_gfq, communicator, data, capacity_bytes, bytes_each,
                                chosen);
  });
}

int Valet_P4est_transfer_custom_begin(const int64_t* dest_gfq, const int64_t* src_gfq,
                                      MPI_Comm communicator, void* data, size_t capacity_bytes,
                                      const int* src_sizes, const int* dest_sizes,
                                      const Valet_Options* options, Valet_Execution** execution) {
  return give(communicator, options, execution, [&](const auto& chosen) {
    return transfer_custom_begin(dest_gfq, src_gfq, communicator, data, capacity_bytes, src_sizes,
                                 dest_sizes, chosen);
  });
}

int Valet_P4est_transfer_items_begin(const int64_t* dest_gfq, const int64_t* src_gfq,
                                     MPI_Comm communicator, void* data, size_t capacity_bytes,
                                     const int* src_counts, const int* dest_counts,
                                     size_t item_bytes, const Valet_Options* options,
                                     Valet_Execution** execution) {
  return give(communicator, options, execution, [&](const auto& chosen) {
    return transfer_items_begin(dest_gfq, src_gfq, communicator, data, capacity_bytes, src_counts,
                                dest_counts, item_bytes, chosen);
  });
}

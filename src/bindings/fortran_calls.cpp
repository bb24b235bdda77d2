// SPDX-License-Identifier: BSD-3-Clause

// The collective functions for Fortran, which gives communicators as integers: the modules `valet`
// (valet.f90), `valet_junction`, `valet_node`, `valet_objects` and `valet_ragged` declare them.

#include "bindings/fortran_communicator.hpp"
#include <valet/valet.h>

using valet::c::from_fortran;

extern "C" {

VALET_EXPORT int Valet_Plan_to_ranks_f(int communicator, const Valet_Storage* storage,
                                       uint64_t count, const uint8_t* mask, const int* ranks,
                                       const Valet_Options* options, Valet_Plan** plan) {
  return Valet_Plan_to_ranks(from_fortran(communicator), storage, count, mask, ranks, options,
                             plan);
}

VALET_EXPORT int Valet_Plan_to_slots_f(int communicator, const Valet_Storage* storage,
                                       uint64_t count, const uint8_t* mask,
                                       const Valet_Address* addresses, const Valet_Options* options,
                                       Valet_Plan** plan) {
  return Valet_Plan_to_slots(from_fortran(communicator), storage, count, mask, addresses, options,
                             plan);
}

VALET_EXPORT int Valet_Repair_f(int communicator, uint64_t count, const uint8_t* mask, int* ranks,
                                uint64_t slots, uint64_t* changed, uint64_t* changed_in_all) {
  return Valet_Repair(from_fortran(communicator), count, mask, ranks, slots, changed,
                      changed_in_all);
}

VALET_EXPORT int Valet_Resize_f(int communicator, const Valet_Storage* storage, uint64_t* count,
                                int active_before, int active_after, int balance,
                                const double* weights, Valet_Released_fn* released, void* data,
                                const Valet_Options* options, Valet_Report* report) {
  return Valet_Resize(from_fortran(communicator), storage, count, active_before, active_after,
                      balance, weights, released, data, options, report);
}

VALET_EXPORT int Valet_Plan_to_layout_f(int communicator, const Valet_Storage* storage,
                                        uint64_t count, const Valet_Object_layout* from,
                                        const Valet_Object_layout* to, const Valet_Options* options,
                                        Valet_Plan** plan) {
  return Valet_Plan_to_layout(from_fortran(communicator), storage, count, from, to, options, plan);
}

VALET_EXPORT int Valet_Alltoallv_in_place_f(int communicator, void* buffer, size_t buffer_bytes,
                                            const int64_t* send_counts, const int64_t* recv_counts,
                                            size_t element_bytes, int any_order,
                                            const Valet_Options* options, Valet_Report* report) {
  return Valet_Alltoallv_in_place(from_fortran(communicator), buffer, buffer_bytes, send_counts,
                                  recv_counts, element_bytes, any_order, options, report);
}

VALET_EXPORT int Valet_Redistribute_f(int communicator, const Valet_Layout* from,
                                      const Valet_Layout* to, size_t element_bytes,
                                      const Valet_Array* source, const Valet_Array* target,
                                      const Valet_Options* options, Valet_Report* report) {
  return Valet_Redistribute(from_fortran(communicator), from, to, element_bytes, source, target,
                            options, report);
}

VALET_EXPORT int Valet_Redistribute_in_place_f(int communicator, const Valet_Layout* from,
                                               const Valet_Layout* to, size_t element_bytes,
                                               const Valet_Array* array,
                                               const Valet_Options* options, Valet_Report* report) {
  return Valet_Redistribute_in_place(from_fortran(communicator), from, to, element_bytes, array,
                                     options, report);
}

VALET_EXPORT int Valet_Junction_accept_f(int communicator, const char* name,
                                         const Valet_Junction_options* options,
                                         Valet_Junction** junction) {
  return Valet_Junction_accept(from_fortran(communicator), name, options, junction);
}

VALET_EXPORT int Valet_Junction_connect_f(int communicator, const char* name,
                                          const Valet_Junction_options* options,
                                          Valet_Junction** junction) {
  return Valet_Junction_connect(from_fortran(communicator), name, options, junction);
}

VALET_EXPORT int Valet_Junction_create_f(int communicator, const char* path,
                                         const Valet_Junction_options* options,
                                         Valet_Junction** junction) {
  return Valet_Junction_create(from_fortran(communicator), path, options, junction);
}

VALET_EXPORT int Valet_Junction_open_f(int communicator, const char* path,
                                       const Valet_Junction_options* options,
                                       Valet_Junction** junction) {
  return Valet_Junction_open(from_fortran(communicator), path, options, junction);
}

VALET_EXPORT int Valet_Node_alloc_f(int communicator, size_t bytes, void** memory) {
  return Valet_Node_alloc(from_fortran(communicator), bytes, memory);
}

VALET_EXPORT int Valet_Migrate_objects_f(int communicator, uint64_t count, const int* ranks,
                                         const Valet_Object_functions* functions, void* data,
                                         const Valet_Options* options, Valet_Report* report) {
  return Valet_Migrate_objects(from_fortran(communicator), count, ranks, functions, data, options,
                               report);
}

VALET_EXPORT int Valet_Ragged_plan_to_ranks_f(int communicator, const Valet_Ragged_storage* storage,
                                              uint64_t count, const int* ranks,
                                              const Valet_Options* options,
                                              Valet_Ragged_plan** plan) {
  return Valet_Ragged_plan_to_ranks(from_fortran(communicator), storage, count, ranks, options,
                                    plan);
}

VALET_EXPORT int Valet_Ragged_resize_f(int communicator, const Valet_Ragged_storage* storage,
                                       uint64_t* count, int active_before, int active_after,
                                       int balance, const double* weights,
                                       const Valet_Options* options, Valet_Report* report) {
  return Valet_Ragged_resize(from_fortran(communicator), storage, count, active_before,
                             active_after, balance, weights, options, report);
}

VALET_EXPORT int Valet_Ragged_migrate_f(int communicator, const Valet_Ragged_storage* storage,
                                        uint64_t* count, const int* ranks,
                                        const Valet_Options* options, Valet_Report* report) {
  return Valet_Ragged_migrate(from_fortran(communicator), storage, count, ranks, options, report);
}

VALET_EXPORT int Valet_Summed_over_ranks_f(int communicator, const Valet_Report* report,
                                           Valet_Report* total) {
  return Valet_Summed_over_ranks(from_fortran(communicator), report, total);
}

}  // extern "C"

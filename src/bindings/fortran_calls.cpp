// SPDX-License-Identifier: BSD-3-Clause

// The collective functions for Fortran, which gives communicators as integers: the modules `valet`
// (valet.f90) and `valet_ragged` (valet_ragged.f90) declare them.

#include <valet/valet.h>

extern "C" {

VALET_EXPORT int Valet_Plan_to_ranks_f(MPI_Fint communicator, const Valet_Storage* storage,
                                       uint64_t count, const uint8_t* mask, const int* ranks,
                                       const Valet_Options* options, Valet_Plan** plan) {
  return Valet_Plan_to_ranks(MPI_Comm_f2c(communicator), storage, count, mask, ranks, options,
                             plan);
}

VALET_EXPORT int Valet_Plan_to_slots_f(MPI_Fint communicator, const Valet_Storage* storage,
                                       uint64_t count, const uint8_t* mask,
                                       const Valet_Address* addresses, const Valet_Options* options,
                                       Valet_Plan** plan) {
  return Valet_Plan_to_slots(MPI_Comm_f2c(communicator), storage, count, mask, addresses, options,
                             plan);
}

VALET_EXPORT int Valet_Repair_f(MPI_Fint communicator, uint64_t count, const uint8_t* mask,
                                int* ranks, uint64_t slots, uint64_t* changed,
                                uint64_t* changed_in_all) {
  return Valet_Repair(MPI_Comm_f2c(communicator), count, mask, ranks, slots, changed,
                      changed_in_all);
}

VALET_EXPORT int Valet_Plan_to_layout_f(MPI_Fint communicator, const Valet_Storage* storage,
                                        uint64_t count, const Valet_Object_layout* from,
                                        const Valet_Object_layout* to, const Valet_Options* options,
                                        Valet_Plan** plan) {
  return Valet_Plan_to_layout(MPI_Comm_f2c(communicator), storage, count, from, to, options, plan);
}

VALET_EXPORT int Valet_Alltoallv_in_place_f(MPI_Fint communicator, void* buffer,
                                            size_t buffer_bytes, const int64_t* send_counts,
                                            const int64_t* recv_counts, size_t element_bytes,
                                            int any_order, const Valet_Options* options,
                                            Valet_Report* report) {
  return Valet_Alltoallv_in_place(MPI_Comm_f2c(communicator), buffer, buffer_bytes, send_counts,
                                  recv_counts, element_bytes, any_order, options, report);
}

VALET_EXPORT int Valet_Redistribute_f(MPI_Fint communicator, const Valet_Layout* from,
                                      const Valet_Layout* to, size_t element_bytes,
                                      const Valet_Array* source, const Valet_Array* target,
                                      const Valet_Options* options, Valet_Report* report) {
  return Valet_Redistribute(MPI_Comm_f2c(communicator), from, to, element_bytes, source, target,
                            options, report);
}

VALET_EXPORT int Valet_Redistribute_in_place_f(MPI_Fint communicator, const Valet_Layout* from,
                                               const Valet_Layout* to, size_t element_bytes,
                                               const Valet_Array* array,
                                               const Valet_Options* options, Valet_Report* report) {
  return Valet_Redistribute_in_place(MPI_Comm_f2c(communicator), from, to, element_bytes, array,
                                     options, report);
}

VALET_EXPORT int Valet_Ragged_plan_to_ranks_f(MPI_Fint communicator,
                                              const Valet_Ragged_storage* storage, uint64_t count,
                                              const int* ranks, const Valet_Options* options,
                                              Valet_Ragged_plan** plan) {
  return Valet_Ragged_plan_to_ranks(MPI_Comm_f2c(communicator), storage, count, ranks, options,
                                    plan);
}

VALET_EXPORT int Valet_Ragged_migrate_f(MPI_Fint communicator, const Valet_Ragged_storage* storage,
                                        uint64_t* count, const int* ranks,
                                        const Valet_Options* options, Valet_Report* report) {
  return Valet_Ragged_migrate(MPI_Comm_f2c(communicator), storage, count, ranks, options, report);
}

VALET_EXPORT int Valet_Summed_over_ranks_f(MPI_Fint communicator, const Valet_Report* report,
                                           Valet_Report* total) {
  return Valet_Summed_over_ranks(MPI_Comm_f2c(communicator), report, total);
}

}  // extern "C"

// SPDX-License-Identifier: BSD-3-Clause

// What the module `valet_zoltan` (valet_zoltan.f90) needs beside the functions for C.

#include "bindings/fortran_communicator.hpp"
#include "handle/handle_state.hpp"
#include <valet/zoltan/valet_zoltan.h>

extern "C" {

VALET_EXPORT Zoltan_Struct* Valet_Zoltan_create_f(int communicator) {
  float version = 0;
  if (Zoltan_Initialize(0, nullptr, &version) != ZOLTAN_OK) return nullptr;
  Zoltan_Struct* const zoltan = Zoltan_Create(valet::c::from_fortran(communicator));
  valet::zoltan::forget_handle_state(zoltan);  // of another one at its address, in any link order
  return zoltan;
}

VALET_EXPORT void Valet_Zoltan_destroy_f(Zoltan_Struct** zoltan) {
  valet::zoltan::forget_handle_state(*zoltan);  // in any link order
  Zoltan_Destroy(zoltan);
}

VALET_EXPORT int Valet_Zoltan_Migrate_lists_f(int communicator, const Valet_Zoltan_lists* lists,
                                              uint64_t count, const uint8_t* mask,
                                              const Valet_Storage* storage,
                                              const Valet_Zoltan_list_options* options,
                                              uint64_t* new_count, Valet_Report* report) {
  return Valet_Zoltan_Migrate_lists(valet::c::from_fortran(communicator), lists, count, mask,
                                    storage, options, new_count, report);
}

}  // extern "C"

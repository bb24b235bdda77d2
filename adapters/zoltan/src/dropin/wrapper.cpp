// SPDX-License-Identifier: BSD-3-Clause

/// The front for a static Zoltan, whose functions cannot be overridden: the linker's --wrap sends
/// calls of Zoltan_X to __wrap_Zoltan_X and calls of __real_Zoltan_X to Zoltan. It does so for all
/// object files but the one that defines the function, so Zoltan_Help_Migrate stays stock.

#include "shim.hpp"

namespace shim = valet::zoltan::shim;

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker wants them.
extern "C" {

decltype(Zoltan_Migrate) __real_Zoltan_Migrate;
decltype(Zoltan_Set_Param) __real_Zoltan_Set_Param;
decltype(Zoltan_Set_Param_Vec) __real_Zoltan_Set_Param_Vec;
decltype(Zoltan_Create) __real_Zoltan_Create;
decltype(Zoltan_Copy) __real_Zoltan_Copy;
decltype(Zoltan_Copy_To) __real_Zoltan_Copy_To;
decltype(Zoltan_Destroy) __real_Zoltan_Destroy;

VALET_EXPORT int __wrap_Zoltan_Migrate(struct Zoltan_Struct* zz, int num_import,
                                       ZOLTAN_ID_PTR import_global_ids,
                                       ZOLTAN_ID_PTR import_local_ids, int* import_procs,
                                       int* import_to_part, int num_export,
                                       ZOLTAN_ID_PTR export_global_ids,
                                       ZOLTAN_ID_PTR export_local_ids, int* export_procs,
                                       int* export_to_part) {
  return shim::migrate(__real_Zoltan_Migrate, zz, num_import, import_global_ids, import_local_ids,
                       import_procs, import_to_part, num_export, export_global_ids,
                       export_local_ids, export_procs, export_to_part);
}

VALET_EXPORT int __wrap_Zoltan_Set_Param(struct Zoltan_Struct* zz, const char* name,
                                         const char* val) {
  return shim::set_param(__real_Zoltan_Set_Param, zz, name, val);
}

VALET_EXPORT int __wrap_Zoltan_Set_Param_Vec(struct Zoltan_Struct* zz, const char* name,
                                             const char* val, int index) {
  return shim::set_param_vec(__real_Zoltan_Set_Param_Vec, zz, name, val, index);
}

VALET_EXPORT struct Zoltan_Struct* __wrap_Zoltan_Create(MPI_Comm communicator) {
  return shim::create(__real_Zoltan_Create, communicator);
}

VALET_EXPORT struct Zoltan_Struct* __wrap_Zoltan_Copy(struct Zoltan_Struct const* from) {
  return shim::copy(__real_Zoltan_Copy, from);
}

VALET_EXPORT int __wrap_Zoltan_Copy_To(struct Zoltan_Struct* to, struct Zoltan_Struct const* from) {
  return shim::copy_to(__real_Zoltan_Copy_To, to, from);
}

VALET_EXPORT void __wrap_Zoltan_Destroy(struct Zoltan_Struct** zz) {
  shim::destroy(__real_Zoltan_Destroy, zz);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

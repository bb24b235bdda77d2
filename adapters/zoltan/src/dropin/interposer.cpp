// SPDX-License-Identifier: BSD-3-Clause

/// Zoltan's functions, defined once more: in a library that stands in front of a shared Zoltan, on
/// the link line or preloaded, these are the ones that the application, the C++ classes and Zoltan
/// itself reach. The stock functions are the next ones behind.

#include "shim.hpp"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace {

template <class Function>
Function next(const char* name) {
  auto* const found = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
  if (found == nullptr) {
    // Nobody can be told: these functions have no way to say that there is no Zoltan.
    std::fprintf(stderr, "Zoltan ERROR in %s:  no Zoltan behind libvalet_zoltan\n", name);
    std::abort();
  }
  return found;
}

}  // namespace

namespace shim = valet::zoltan::shim;

extern "C" {

VALET_EXPORT int Zoltan_Migrate(struct Zoltan_Struct* zz, int num_import,
                                ZOLTAN_ID_PTR import_global_ids, ZOLTAN_ID_PTR import_local_ids,
                                int* import_procs, int* import_to_part, int num_export,
                                ZOLTAN_ID_PTR export_global_ids, ZOLTAN_ID_PTR export_local_ids,
                                int* export_procs, int* export_to_part) {
  static const auto stock = next<decltype(&Zoltan_Migrate)>("Zoltan_Migrate");
  return shim::migrate(stock, zz, num_import, import_global_ids, import_local_ids, import_procs,
                       import_to_part, num_export, export_global_ids, export_local_ids,
                       export_procs, export_to_part);
}

VALET_EXPORT int Zoltan_Set_Param(struct Zoltan_Struct* zz, const char* name, const char* val) {
  static const auto stock = next<decltype(&Zoltan_Set_Param)>("Zoltan_Set_Param");
  return shim::set_param(stock, zz, name, val);
}

VALET_EXPORT int Zoltan_Set_Param_Vec(struct Zoltan_Struct* zz, const char* name, const char* val,
                                      int index) {
  static const auto stock = next<decltype(&Zoltan_Set_Param_Vec)>("Zoltan_Set_Param_Vec");
  return shim::set_param_vec(stock, zz, name, val, index);
}

VALET_EXPORT struct Zoltan_Struct* Zoltan_Create(MPI_Comm communicator) {
  static const auto stock = next<decltype(&Zoltan_Create)>("Zoltan_Create");
  return shim::create(stock, communicator);
}

VALET_EXPORT struct Zoltan_Struct* Zoltan_Copy(struct Zoltan_Struct const* from) {
  static const auto stock = next<decltype(&Zoltan_Copy)>("Zoltan_Copy");
  return shim::copy(stock, from);
}

VALET_EXPORT int Zoltan_Copy_To(struct Zoltan_Struct* to, struct Zoltan_Struct const* from) {
  static const auto stock = next<decltype(&Zoltan_Copy_To)>("Zoltan_Copy_To");
  return shim::copy_to(stock, to, from);
}

VALET_EXPORT void Zoltan_Destroy(struct Zoltan_Struct** zz) {
  static const auto stock = next<decltype(&Zoltan_Destroy)>("Zoltan_Destroy");
  shim::destroy(stock, zz);
}

}  // extern "C"

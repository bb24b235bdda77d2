// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What stands in front of Zoltan's functions, whichever way it got there. Each function here does
/// Valet's part; `stock` is Zoltan's own function, which is called where it is due.

#include <valet/export.hpp>
#include <valet/mpi.hpp>

#include <zoltan.h>

namespace valet::zoltan::shim {

VALET_EXPORT int migrate(decltype(&Zoltan_Migrate) stock, Zoltan_Struct* zz, int num_import,
                         ZOLTAN_ID_PTR import_global_ids, ZOLTAN_ID_PTR import_local_ids,
                         int* import_procs, int* import_to_part, int num_export,
                         ZOLTAN_ID_PTR export_global_ids, ZOLTAN_ID_PTR export_local_ids,
                         int* export_procs, int* export_to_part);
VALET_EXPORT int set_param(decltype(&Zoltan_Set_Param) stock, Zoltan_Struct* zz, const char* name,
                           const char* value);
VALET_EXPORT int set_param_vec(decltype(&Zoltan_Set_Param_Vec) stock, Zoltan_Struct* zz,
                               const char* name, const char* value, int index);
VALET_EXPORT Zoltan_Struct* create(decltype(&Zoltan_Create) stock, MPI_Comm communicator);
VALET_EXPORT Zoltan_Struct* copy(decltype(&Zoltan_Copy) stock, const Zoltan_Struct* from);
VALET_EXPORT int copy_to(decltype(&Zoltan_Copy_To) stock, Zoltan_Struct* to,
                         const Zoltan_Struct* from);
VALET_EXPORT void destroy(decltype(&Zoltan_Destroy) stock, Zoltan_Struct** zz);

}  // namespace valet::zoltan::shim

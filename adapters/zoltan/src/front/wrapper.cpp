// SPDX-License-Identifier: BSD-3-Clause

/// The front for a static Zoltan, whose functions cannot be overridden: the linker's --wrap sends
/// calls of Zoltan_X to __wrap_Zoltan_X and calls of __real_Zoltan_X to Zoltan. It does so for all
/// object files but the one that defines the function, so Zoltan_Help_Migrate stays stock.

#include <valet/mpi.hpp>

#include <zoltan.h>

// NOLINTBEGIN(clang-diagnostic-reserved-identifier,readability-identifier-naming): for ld
extern "C" {

decltype(Zoltan_Migrate) __real_Zoltan_Migrate;
decltype(Zoltan_LB_Partition) __real_Zoltan_LB_Partition;
decltype(Zoltan_LB_Balance) __real_Zoltan_LB_Balance;
decltype(Zoltan_LB_Set_Part_Sizes) __real_Zoltan_LB_Set_Part_Sizes;
decltype(Zoltan_Set_Param) __real_Zoltan_Set_Param;
decltype(Zoltan_Set_Param_Vec) __real_Zoltan_Set_Param_Vec;
decltype(Zoltan_Create) __real_Zoltan_Create;
decltype(Zoltan_Copy) __real_Zoltan_Copy;
decltype(Zoltan_Copy_To) __real_Zoltan_Copy_To;
decltype(Zoltan_Destroy) __real_Zoltan_Destroy;

}  // extern "C"

#define VALET_FRONT(function) __wrap_##function
#define VALET_STOCK(function) __real_##function
#include "shim_functions.inc"
// NOLINTEND(clang-diagnostic-reserved-identifier,readability-identifier-naming)

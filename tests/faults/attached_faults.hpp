// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Attached storage for mpi_program.cpp.

#include "zoltan_lists.hpp"
#include <valet/zoltan/attached.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace valet::test {

/// Objects on a line, attached to a structure whose functions partition and move them, twice.
/// @param by_lists  By lists, made before they move and as they move; otherwise in cells, and to a
///                  layout.
/// @return The first code of Zoltan's that is none of success.
inline int move_attached(MPI_Comm communicator, bool by_lists) {
  constexpr std::size_t count = 60, room = 4 * count;
  float version = 0;
  Zoltan_Initialize(0, nullptr, &version);
  Zoltan_Struct* structure = Zoltan_Create(communicator);  // stays where MPI has failed
  std::vector<double> place(room);
  std::vector<std::uint64_t> number(room);
  std::iota(place.begin(), place.end(), 0.0);
  zoltan::Attached attached(structure, count, BlockStorage{field(place), field(number)});
  attached.coordinates(array_columns(place.data(), place.size(), 1));
  for (const auto& [name, value] : ZoltanParameters{{"DEBUG_LEVEL", "0"},
                                                    {"MIGRATE_METHOD", "STREAM"},
                                                    {"MIGRATE_MEMORY", "200"},
                                                    {"MIGRATE_SHARE_MEMORY", "0"},
                                                    {"MIGRATE_VERIFY", "1"},
                                                    {"AUTO_MIGRATE", by_lists ? "0" : "1"},
                                                    {"RETURN_LISTS", by_lists ? "ALL" : "NONE"}})
    Zoltan_Set_Param(structure, name.c_str(), value.c_str());
  const auto pass = [structure, by_lists] {
    const ZoltanLists lists(structure);
    return by_lists && lists.code() == ZOLTAN_OK ? lists.migrate(structure) : lists.code();
  };
  int code = pass();
  if (by_lists) Zoltan_Set_Param(structure, "AUTO_MIGRATE", "1");
  if (code == ZOLTAN_OK) Zoltan_Set_Param(structure, "LB_METHOD", by_lists ? "HSFC" : "CYCLIC");
  if (code == ZOLTAN_OK) code = ZoltanLists(structure).code();
  if (code == ZOLTAN_OK) Zoltan_Destroy(&structure);
  return code;
}

}  // namespace valet::test

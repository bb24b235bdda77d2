// SPDX-License-Identifier: BSD-3-Clause
#include "support/ranks.hpp"
#include "ways.hpp"

#include <zoltan.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace species {
namespace {

/// What Zoltan's callbacks are given. Local ids are the numbers of cells, ascending.
struct LeavingCells {
  Cells& cells;
  std::vector<ZOLTAN_ID_TYPE> leaving;  ///< for global ids, too: nobody looks at them
  std::vector<int> to;
  std::uint64_t used = 0;  ///< records, while cells arrive
};

void sizes(void* data, int, int, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR numbers, int* bytes,
           int* error) {
  const Cells& cells = static_cast<const LeavingCells*>(data)->cells;
  for (int i = 0; i < count; ++i)
    bytes[i] = static_cast<int>(sizeof(Head) + cells.lengths[numbers[i]]);
  *error = ZOLTAN_OK;
}

void pack(void* data, int, int, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR numbers, int*, int*,
          int* places, char* buffer, int* error) {
  const Cells& cells = static_cast<const LeavingCells*>(data)->cells;
  const Record* list = cells.records.data();
  std::uint64_t k = 0;
  for (int i = 0; i < count; ++i) {
    for (; k < numbers[i]; ++k) list += cells.species(k);
    const Head head = cells.head(k);
    std::memcpy(buffer + places[i], &head, sizeof head);
    std::memcpy(buffer + places[i] + sizeof head, list, head.length);
  }
  *error = ZOLTAN_OK;
}

/// Everything is packed: what stays closes up.
void close_up(void* data, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int,
              ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int* error) {
  LeavingCells& leaving_cells = *static_cast<LeavingCells*>(data);
  Cells& cells = leaving_cells.cells;
  auto leaves = leaving_cells.leaving.begin();
  std::uint64_t kept = 0;
  const Record* list = cells.records.data();
  for (std::uint64_t k = 0; k < cells.count; ++k) {
    const Head head = cells.head(k);
    if (leaves != leaving_cells.leaving.end() && *leaves == k) {
      ++leaves;
    } else {
      std::memmove(&cells.records[leaving_cells.used], list, head.length);
      leaving_cells.used += head.length / sizeof(Record);
      cells.set_head(kept++, head);
    }
    list += head.length / sizeof(Record);
  }
  cells.count = kept;
  *error = ZOLTAN_OK;
}

void unpack(void* data, int, int count, ZOLTAN_ID_PTR, int*, int* places, char* buffer,
            int* error) {
  LeavingCells& leaving_cells = *static_cast<LeavingCells*>(data);
  for (int i = 0; i < count; ++i) {
    Head head;
    std::memcpy(&head, buffer + places[i], sizeof head);
    std::memcpy(&leaving_cells.cells.records[leaving_cells.used], buffer + places[i] + sizeof head,
                head.length);
    leaving_cells.used += head.length / sizeof(Record);
    leaving_cells.cells.set_head(leaving_cells.cells.count++, head);
  }
  *error = ZOLTAN_OK;
}

struct Destroy {
  void operator()(Zoltan_Struct* zoltan) const { Zoltan_Destroy(&zoltan); }
};

/// Sees to it that what arrives will fit: a callback cannot refuse on all ranks.
void require_room_after(MPI_Comm communicator, const Cells& cells, std::span<const int> ranks) {
  const auto size = static_cast<std::size_t>(example::size_of(communicator));
  // Records and cells for each rank, then those of this one.
  std::vector<std::uint64_t> sums(2 * size, 0);
  for (std::uint64_t k = 0; k < cells.count; ++k) {
    sums[2 * static_cast<std::size_t>(ranks[k])] += cells.species(k);
    ++sums[2 * static_cast<std::size_t>(ranks[k]) + 1];
  }
  std::uint64_t own[2] = {0, 0};
  MPI_Reduce_scatter_block(sums.data(), own, 2, MPI_UINT64_T, MPI_SUM, communicator);
  require_room(communicator, cells, own[0], own[1]);
}

}  // namespace

Moved zoltan_migrate(MPI_Comm communicator, Cells& cells, std::span<const int> ranks) {
  require_room_after(communicator, cells, ranks);
  const int own = example::rank_of(communicator);
  LeavingCells leaving_cells{.cells = cells, .leaving = {}, .to = {}};
  Moved moved;
  int result = ZOLTAN_MEMERR;
  try {
    for (std::uint64_t k = 0; k < cells.count; ++k) {
      if (ranks[k] == own) continue;
      leaving_cells.leaving.push_back(static_cast<ZOLTAN_ID_TYPE>(k));
      leaving_cells.to.push_back(ranks[k]);
      moved.bytes_sent += sizeof(Head) + cells.lengths[k];
    }
    const std::unique_ptr<Zoltan_Struct, Destroy> zoltan(Zoltan_Create(communicator));
    Zoltan_Set_Param(zoltan.get(), "DEBUG_LEVEL", "0");
    Zoltan_Set_Obj_Size_Multi_Fn(zoltan.get(), sizes, &leaving_cells);
    Zoltan_Set_Pack_Obj_Multi_Fn(zoltan.get(), pack, &leaving_cells);
    Zoltan_Set_Mid_Migrate_PP_Fn(zoltan.get(), close_up, &leaving_cells);
    Zoltan_Set_Unpack_Obj_Multi_Fn(zoltan.get(), unpack, &leaving_cells);
    result = Zoltan_Migrate(zoltan.get(), -1, nullptr, nullptr, nullptr, nullptr,
                            static_cast<int>(leaving_cells.to.size()), leaving_cells.leaving.data(),
                            leaving_cells.leaving.data(), leaving_cells.to.data(),
                            leaving_cells.to.data());
  } catch (const std::bad_alloc&) {
    // As if Zoltan had found none.
  }
  if (result == ZOLTAN_MEMERR)
    throw std::runtime_error(
        "out of memory: the system refuses Zoltan_Migrate its packed buffers (--exchange zoltan)");
  if (result != ZOLTAN_OK) throw std::runtime_error("Zoltan_Migrate failed");
  return moved;
}

}  // namespace species

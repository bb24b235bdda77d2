// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "block_comparison.hpp"
#include <valet/zoltan/valet_zoltan.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace valet::bench {

/// An application with objects of one size in a pool of slots, all of which leave: object k of a
/// rank goes to the other ranks in turn. The local id is the slot, and a slot is as good as
/// another. Uses Zoltan's interface only, but for the free callback of STEPS.
class DropinClient {
 public:
  /// @param multi  Register the multi forms of the callbacks.
  DropinClient(std::uint64_t objects, std::uint64_t object_bytes, bool multi)
      : objects_(objects),
        object_bytes_(object_bytes),
        zoltan_(Zoltan_Create(MPI_COMM_WORLD)),
        blocks_(map_of(objects), {object_bytes}) {
    free_.reserve(objects);
    for (std::uint64_t slot = 0; slot < objects_; ++slot) {
      const std::uint64_t id = objects_ * static_cast<std::uint64_t>(world_rank()) + slot;
      gids_.push_back(static_cast<ZOLTAN_ID_TYPE>(id));
      lids_.push_back(static_cast<ZOLTAN_ID_TYPE>(slot));
    }
    procs_ = blocks_.ranks();
    Zoltan_Set_Param(zoltan_, "DEBUG_LEVEL", "0");
    if (multi)
      register_multi_callbacks();
    else
      register_single_callbacks();
    Valet_Set_Free_Obj_Fn(
        zoltan_,
        [](void* data, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR lid, int* code) {
          of(data).free_.push_back(*lid);
          *code = ZOLTAN_OK;
        },
        this);
  }
  DropinClient(const DropinClient&) = delete;
  DropinClient& operator=(const DropinClient&) = delete;
  ~DropinClient() { Zoltan_Destroy(&zoltan_); }

  /// Writes all objects again, each on the rank of its number.
  void fill() {
    blocks_.fill();
    free_.clear();
  }

  /// One migration of everything. `callbacks`: ZOLTAN, HOLD or STEPS. Returns Zoltan's code.
  int migrate(const std::string& callbacks, const std::string& memory) {
    const bool steps = callbacks == "STEPS";
    // In stock and HOLD the slots of all exports become free in mid.
    ZOLTAN_MID_MIGRATE_FN* const mid = [](void* data, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR,
                                          int*, int exports, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR lids,
                                          int*, int* code) {
      for (int k = exports - 1; k >= 0; --k) of(data).free_.push_back(lids[k]);
      *code = ZOLTAN_OK;
    };
    Zoltan_Set_Param(zoltan_, "MIGRATE_METHOD", callbacks == "ZOLTAN" ? "ZOLTAN" : "STREAM");
    Zoltan_Set_Param(zoltan_, "MIGRATE_CALLBACKS", steps ? "STEPS" : "HOLD");
    Zoltan_Set_Param(zoltan_, "MIGRATE_MEMORY", memory.c_str());
    Zoltan_Set_Mid_Migrate_Fn(zoltan_, steps ? nullptr : mid, this);
    return Zoltan_Migrate(zoltan_, -1, nullptr, nullptr, nullptr, nullptr,
                          static_cast<int>(objects_), gids_.data(), lids_.data(), procs_.data(),
                          nullptr);
  }

  /// The report of the last migration that was not stock.
  [[nodiscard]] Valet_Migration_Report report() const {
    Valet_Migration_Report report{};
    Valet_Get_Report(zoltan_, &report);
    return report;
  }

  /// Every object is on its rank, whole, and none is lost or doubled. Collective.
  [[nodiscard]] bool verified() const {
    return blocks_.verified(objects_, Places::any) && on_all_ranks(free_.empty());
  }

 private:
  static DropinClient& of(void* data) { return *static_cast<DropinClient*>(data); }

  static Map map_of(std::uint64_t objects) {
    return {objects, [=](int) { return objects; },
            [=](int rank, std::uint64_t slot) {
              const int ranks = world_size();
              if (ranks < 2) return Address{rank, slot};
              const std::uint64_t turn = slot % static_cast<std::uint64_t>(ranks - 1);
              return Address{(rank + 1 + static_cast<int>(turn)) % ranks, slot};
            }};
  }

  [[nodiscard]] std::byte* object(ZOLTAN_ID_TYPE slot) const {
    return blocks_.field(0) + slot * object_bytes_;
  }
  void pack(ZOLTAN_ID_TYPE slot, char* buffer) const {
    std::memcpy(buffer, object(slot), object_bytes_);
  }
  void unpack(const char* buffer) {
    std::memcpy(object(free_.back()), buffer, object_bytes_);
    free_.pop_back();
  }

  void register_single_callbacks() {
    Zoltan_Set_Obj_Size_Fn(
        zoltan_,
        [](void* data, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int* code) {
          *code = ZOLTAN_OK;
          return static_cast<int>(of(data).object_bytes_);
        },
        this);
    Zoltan_Set_Pack_Obj_Fn(
        zoltan_,
        [](void* data, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR lid, int, int, char* buffer,
           int* code) {
          of(data).pack(*lid, buffer);
          *code = ZOLTAN_OK;
        },
        this);
    Zoltan_Set_Unpack_Obj_Fn(
        zoltan_,
        [](void* data, int, ZOLTAN_ID_PTR, int, char* buffer, int* code) {
          of(data).unpack(buffer);
          *code = ZOLTAN_OK;
        },
        this);
  }

  void register_multi_callbacks() {
    Zoltan_Set_Obj_Size_Multi_Fn(
        zoltan_,
        [](void* data, int, int, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int* sizes, int* code) {
          std::fill_n(sizes, count, static_cast<int>(of(data).object_bytes_));
          *code = ZOLTAN_OK;
        },
        this);
    Zoltan_Set_Pack_Obj_Multi_Fn(
        zoltan_,
        [](void* data, int, int, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR lids, int*, int*,
           int* offsets, char* buffer, int* code) {
          for (int k = 0; k < count; ++k) of(data).pack(lids[k], buffer + offsets[k]);
          *code = ZOLTAN_OK;
        },
        this);
    Zoltan_Set_Unpack_Obj_Multi_Fn(
        zoltan_,
        [](void* data, int, int count, ZOLTAN_ID_PTR, int*, int* offsets, char* buffer, int* code) {
          for (int k = 0; k < count; ++k) of(data).unpack(buffer + offsets[k]);
          *code = ZOLTAN_OK;
        },
        this);
  }

  std::uint64_t objects_;
  std::uint64_t object_bytes_;
  Zoltan_Struct* zoltan_;
  BlockComparison blocks_;
  std::vector<ZOLTAN_ID_TYPE> free_;
  std::vector<ZOLTAN_ID_TYPE> gids_, lids_;
  std::vector<int> procs_;
};

}  // namespace valet::bench

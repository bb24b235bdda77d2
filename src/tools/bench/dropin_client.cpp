// SPDX-License-Identifier: BSD-3-Clause
#include "dropin_client.hpp"

#include "measure.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace valet::bench {
namespace {

DropinClient& of(void* data) { return *static_cast<DropinClient*>(data); }

int size_one(void* data, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int* code) {
  *code = ZOLTAN_OK;
  return of(data).object_size();
}
void size_many(void* data, int, int, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int* sizes,
               int* code) {
  std::fill_n(sizes, count, of(data).object_size());
  *code = ZOLTAN_OK;
}
void pack_one(void* data, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR lid, int, int, char* buffer,
              int* code) {
  of(data).pack(*lid, buffer);
  *code = ZOLTAN_OK;
}
void pack_many(void* data, int, int, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR lids, int*, int*,
               int* offsets, char* buffer, int* code) {
  for (int k = 0; k < count; ++k) of(data).pack(lids[k], buffer + offsets[k]);
  *code = ZOLTAN_OK;
}
void unpack_one(void* data, int, ZOLTAN_ID_PTR gid, int, char* buffer, int* code) {
  of(data).unpack(*gid, buffer);
  *code = ZOLTAN_OK;
}
void unpack_many(void* data, int, int count, ZOLTAN_ID_PTR gids, int*, int* offsets, char* buffer,
                 int* code) {
  for (int k = 0; k < count; ++k) of(data).unpack(gids[k], buffer + offsets[k]);
  *code = ZOLTAN_OK;
}
void mid(void* data, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int exports, ZOLTAN_ID_PTR,
         ZOLTAN_ID_PTR lids, int*, int* code) {
  of(data).mid(exports, lids);
  *code = ZOLTAN_OK;
}
void free_object(void* data, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR lid, int* code) {
  of(data).free_slot(*lid);
  *code = ZOLTAN_OK;
}

}  // namespace

DropinClient::DropinClient(std::uint64_t objects, std::uint64_t object_bytes, bool multi)
    : objects_(objects),
      object_bytes_(object_bytes),
      zoltan_(Zoltan_Create(MPI_COMM_WORLD)),
      pool_(objects * object_bytes / sizeof(std::uint64_t)),
      id_of_slot_(objects) {
  free_.reserve(objects);
  make_lists();
  Zoltan_Set_Param(zoltan_, "DEBUG_LEVEL", "0");
  if (multi) {
    Zoltan_Set_Obj_Size_Multi_Fn(zoltan_, size_many, this);
    Zoltan_Set_Pack_Obj_Multi_Fn(zoltan_, pack_many, this);
    Zoltan_Set_Unpack_Obj_Multi_Fn(zoltan_, unpack_many, this);
  } else {
    Zoltan_Set_Obj_Size_Fn(zoltan_, size_one, this);
    Zoltan_Set_Pack_Obj_Fn(zoltan_, pack_one, this);
    Zoltan_Set_Unpack_Obj_Fn(zoltan_, unpack_one, this);
  }
}

DropinClient::~DropinClient() { Zoltan_Destroy(&zoltan_); }

void DropinClient::make_lists() {
  const int ranks = world_size();
  for (std::uint64_t k = 0; k < objects_; ++k) {
    gids_.push_back(static_cast<ZOLTAN_ID_TYPE>(objects_) *
                        static_cast<ZOLTAN_ID_TYPE>(world_rank()) +
                    static_cast<ZOLTAN_ID_TYPE>(k));
    lids_.push_back(static_cast<ZOLTAN_ID_TYPE>(k));
    const int hop = ranks < 2 ? 0 : 1 + static_cast<int>(k % static_cast<std::uint64_t>(ranks - 1));
    procs_.push_back((world_rank() + hop) % ranks);
  }
}

std::uint64_t* DropinClient::words(std::uint64_t slot) const {
  return pool_.data() + slot * (object_bytes_ / sizeof(std::uint64_t));
}

std::uint64_t DropinClient::word(ZOLTAN_ID_TYPE id, std::uint64_t k) const {
  return (std::uint64_t{id} + 1) * 0x9E3779B97F4A7C15ULL + k;
}

void DropinClient::fill() {
  for (std::uint64_t slot = 0; slot < objects_; ++slot) {
    id_of_slot_[slot] = gids_[slot];
    for (std::uint64_t k = 0; k < object_bytes_ / sizeof(std::uint64_t); ++k)
      words(slot)[k] = word(gids_[slot], k);
  }
  free_.clear();
}

int DropinClient::migrate(const std::string& callbacks, const std::string& memory) {
  steps_ = callbacks == "STEPS";
  Zoltan_Set_Param(zoltan_, "MIGRATE_METHOD", callbacks == "ZOLTAN" ? "ZOLTAN" : "STREAM");
  Zoltan_Set_Param(zoltan_, "MIGRATE_CALLBACKS", steps_ ? "STEPS" : "HOLD");
  Zoltan_Set_Param(zoltan_, "MIGRATE_MEMORY", memory.c_str());
  Zoltan_Set_Mid_Migrate_Fn(zoltan_, steps_ ? nullptr : bench::mid, this);
  Valet_Set_Free_Obj_Fn(zoltan_, free_object, this);
  return Zoltan_Migrate(zoltan_, -1, nullptr, nullptr, nullptr, nullptr, static_cast<int>(objects_),
                        gids_.data(), lids_.data(), procs_.data(), nullptr);
}

Valet_Migration_Report DropinClient::report() const {
  Valet_Migration_Report report{};
  Valet_Get_Report(zoltan_, &report);
  return report;
}

void DropinClient::pack(ZOLTAN_ID_TYPE slot, char* buffer) const {
  std::memcpy(buffer, words(slot), object_bytes_);
}

void DropinClient::unpack(ZOLTAN_ID_TYPE id, const char* buffer) {
  const ZOLTAN_ID_TYPE slot = free_.back();
  free_.pop_back();
  std::memcpy(words(slot), buffer, object_bytes_);
  id_of_slot_[slot] = id;
}

void DropinClient::mid(int exports, const ZOLTAN_ID_TYPE* slots) {
  for (int k = exports - 1; k >= 0; --k) free_.push_back(slots[k]);
}

bool DropinClient::verified() const {
  const int ranks = world_size();
  bool good = free_.empty();
  std::uint64_t sum = 0;
  for (std::uint64_t slot = 0; slot < objects_; ++slot) {
    const ZOLTAN_ID_TYPE id = id_of_slot_[slot];
    const auto from = static_cast<int>(id / objects_);
    const int hop = ranks < 2 ? 0 : 1 + static_cast<int>(id % objects_) % (ranks - 1);
    good = good && (from + hop) % ranks == world_rank();
    for (std::uint64_t k = 0; k < object_bytes_ / sizeof(std::uint64_t); ++k)
      good = good && words(slot)[k] == word(id, k);
    sum += word(id, 0);
  }
  const std::uint64_t expected =
      std::accumulate(gids_.begin(), gids_.end(), std::uint64_t{0},
                      [&](std::uint64_t total, ZOLTAN_ID_TYPE id) { return total + word(id, 0); });
  return on_all_ranks(good) && sum_of_ranks(sum) == sum_of_ranks(expected);
}

}  // namespace valet::bench

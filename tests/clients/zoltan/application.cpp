// SPDX-License-Identifier: BSD-3-Clause
#include "application.hpp"

#include <algorithm>
#include <cstring>

namespace clients {
namespace {

enum Event : std::uint32_t { event_pre = 1, event_pack, event_mid, event_unpack, event_post };

unsigned char payload_byte(ZOLTAN_ID_TYPE id, std::size_t k) {
  return static_cast<unsigned char>((id * 2654435761U >> 7) + k * 31);
}

Application& of(void* data) { return *static_cast<Application*>(data); }

int count_objects(void* data, int* code) {
  *code = ZOLTAN_OK;
  return of(data).number_of_objects();
}
void list_objects(void* data, int, int, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR lids, int, float*,
                  int* code) {
  of(data).list_objects(gids, lids);
  *code = ZOLTAN_OK;
}
int dimensions(void*, int* code) {
  *code = ZOLTAN_OK;
  return 3;
}
void coordinates(void*, int gids, int, int count, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR, int,
                 double* xyz, int* code) {
  for (int k = 0; k < count; ++k) {
    const ZOLTAN_ID_TYPE id = gid[k * gids];
    for (unsigned d = 0; d < 3; ++d)
      xyz[3 * k + static_cast<int>(d)] = (id * (2654435761U + 97 * d) >> 8) % 10007;
  }
  *code = ZOLTAN_OK;
}
// A ring of neighbouring ids is graph enough for the hypergraph partitioner.
void number_of_pins(void* data, int* lists, int* pins, int* format, int* code) {
  *lists = of(data).number_of_objects();
  *pins = 2 * *lists;
  *format = ZOLTAN_COMPRESSED_EDGE;
  *code = ZOLTAN_OK;
}
void list_pins(void* data, int gids, int lists, int, int, ZOLTAN_ID_PTR edges, int* first,
               ZOLTAN_ID_PTR pins, int* code) {
  const std::vector<ZOLTAN_ID_TYPE> ids = of(data).ids();
  for (int k = 0; k < lists; ++k) {
    for (int e = 0; e < gids; ++e) {
      const ZOLTAN_ID_TYPE id = ids[static_cast<std::size_t>(k)];
      edges[k * gids + e] = e == 0 ? id : 0;
      pins[2 * k * gids + e] = e == 0 ? id : id + static_cast<ZOLTAN_ID_TYPE>(e);
      pins[(2 * k + 1) * gids + e] = pins[2 * k * gids + e];
    }
    first[k] = 2 * k;
  }
  *code = ZOLTAN_OK;
}

int size_one(void* data, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid, int* code) {
  *code = ZOLTAN_OK;
  of(data).begin_sizes(1, gid);
  return of(data).size(gid, lid);
}
ZOLTAN_ID_PTR lid_at(ZOLTAN_ID_PTR lids, int entries, int k) {
  return entries == 0 ? nullptr : lids + k * entries;
}
void size_many(void* data, int gids, int lids, int count, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid,
               int* sizes, int* code) {
  of(data).begin_sizes(count, gid);
  for (int k = 0; k < count; ++k) sizes[k] = of(data).size(gid + k * gids, lid_at(lid, lids, k));
  *code = ZOLTAN_OK;
}
void pack_one(void* data, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid, int destination, int size,
              char* buffer, int* code) {
  of(data).pack(gid, lid, destination, size, buffer);
  *code = ZOLTAN_OK;
}
void pack_many(void* data, int gids, int lids, int count, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid,
               int* destinations, int* sizes, int* offsets, char* buffer, int* code) {
  of(data).begin_packs(count, gid);
  for (int k = 0; k < count; ++k)
    of(data).pack(gid + k * gids, lid_at(lid, lids, k), destinations[k], sizes[k],
                  buffer + offsets[k]);
  *code = ZOLTAN_OK;
}
void unpack_one(void* data, int, ZOLTAN_ID_PTR gid, int size, char* buffer, int* code) {
  of(data).unpack(gid, size, buffer);
  *code = ZOLTAN_OK;
}
void unpack_many(void* data, int gids, int count, ZOLTAN_ID_PTR gid, int* sizes, int* offsets,
                 char* buffer, int* code) {
  of(data).begin_unpacks(count);
  for (int k = 0; k < count; ++k) of(data).unpack(gid + k * gids, sizes[k], buffer + offsets[k]);
  *code = ZOLTAN_OK;
}

void pre_parts(void* data, int, int, int imports, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*,
               int exports, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR lids, int*, int*, int* code) {
  of(data).pre(imports, exports, gids, lids);
  *code = ZOLTAN_OK;
}
void pre_plain(void* data, int, int, int imports, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int exports,
               ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR lids, int*, int* code) {
  of(data).pre(imports, exports, gids, lids);
  *code = ZOLTAN_OK;
}
void mid_parts(void* data, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int exports,
               ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR, int*, int*, int* code) {
  of(data).mid(exports, gids);
  *code = ZOLTAN_OK;
}
void mid_plain(void* data, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int exports,
               ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR, int*, int* code) {
  of(data).mid(exports, gids);
  *code = ZOLTAN_OK;
}
void post_parts(void* data, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int,
                ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int* code) {
  of(data).post();
  *code = ZOLTAN_OK;
}
void post_plain(void* data, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int, ZOLTAN_ID_PTR,
                ZOLTAN_ID_PTR, int*, int* code) {
  of(data).post();
  *code = ZOLTAN_OK;
}

}  // namespace

std::string to_string(Behaviour behaviour) {
  switch (behaviour) {
    case Behaviour::drop_in_pack: return "drop_in_pack";
    case Behaviour::compact_in_mid: return "compact_in_mid";
    case Behaviour::communicate: return "communicate";
    case Behaviour::paired_callbacks: return "paired_callbacks";
    case Behaviour::copy_out: return "copy_out";
  }
  return "unknown";
}

int packed_size(ZOLTAN_ID_TYPE id) {
  if (id % 7 == 3) return 0;
  if (id % 61 == 5) return 3000 + static_cast<int>(id % 1000);
  return static_cast<int>(id * 37 % 211);
}

Application::Application(MPI_Comm communicator, Behaviour behaviour, const Forms& forms,
                         ZOLTAN_ID_TYPE first, int count)
    : communicator_(communicator), behaviour_(behaviour), forms_(forms) {
  for (ZOLTAN_ID_TYPE id = first; id < first + static_cast<ZOLTAN_ID_TYPE>(count); ++id) {
    Object object{id, {}};
    object.payload.resize(static_cast<std::size_t>(packed_size(id)));
    for (std::size_t k = 0; k < object.payload.size(); ++k) object.payload[k] = payload_byte(id, k);
    put(slots_.size(), std::move(object));
  }
}

void Application::register_with(Zoltan_Struct* zoltan) {
  const auto set = [&](ZOLTAN_FN_TYPE type, auto* function) {
    Zoltan_Set_Fn(zoltan, type, reinterpret_cast<ZOLTAN_VOID_FN*>(function), this);
  };
  set(ZOLTAN_NUM_OBJ_FN_TYPE, count_objects);
  set(ZOLTAN_OBJ_LIST_FN_TYPE, clients::list_objects);
  set(ZOLTAN_NUM_GEOM_FN_TYPE, dimensions);
  set(ZOLTAN_GEOM_MULTI_FN_TYPE, coordinates);
  set(ZOLTAN_HG_SIZE_CS_FN_TYPE, number_of_pins);
  set(ZOLTAN_HG_CS_FN_TYPE, list_pins);
  forms_.size_multi ? set(ZOLTAN_OBJ_SIZE_MULTI_FN_TYPE, size_many)
                    : set(ZOLTAN_OBJ_SIZE_FN_TYPE, size_one);
  forms_.pack_multi ? set(ZOLTAN_PACK_OBJ_MULTI_FN_TYPE, pack_many)
                    : set(ZOLTAN_PACK_OBJ_FN_TYPE, pack_one);
  forms_.unpack_multi ? set(ZOLTAN_UNPACK_OBJ_MULTI_FN_TYPE, unpack_many)
                      : set(ZOLTAN_UNPACK_OBJ_FN_TYPE, unpack_one);
  forms_.stages_with_parts ? set(ZOLTAN_PRE_MIGRATE_PP_FN_TYPE, pre_parts)
                           : set(ZOLTAN_PRE_MIGRATE_FN_TYPE, pre_plain);
  forms_.stages_with_parts ? set(ZOLTAN_MID_MIGRATE_PP_FN_TYPE, mid_parts)
                           : set(ZOLTAN_MID_MIGRATE_FN_TYPE, mid_plain);
  forms_.stages_with_parts ? set(ZOLTAN_POST_MIGRATE_PP_FN_TYPE, post_parts)
                           : set(ZOLTAN_POST_MIGRATE_FN_TYPE, post_plain);
}

void Application::complain(const std::string& text) {
  if (complaint_.empty()) complaint_ = text;
}

void Application::log(std::uint32_t what, std::uint64_t value) {
  log_.push_back(std::uint64_t{what} << 56 | value);
}

void Application::put(std::size_t slot, Object object) {
  if (slot >= slots_.size()) slots_.resize(slot + 1);
  if (slots_[slot] != nullptr) complain("an arrival was put over an object that is still there");
  slot_of_id_[object.id] = slot;
  slots_[slot] = std::make_unique<Object>(std::move(object));
}

/// Real applications trust the local id; the global id tells whether they are right.
std::size_t Application::slot_of(ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid) {
  if (forms_.lid_entries == 0) {
    const auto found = slot_of_id_.find(gid[0]);
    if (found != slot_of_id_.end()) return found->second;
  } else if (lid != nullptr && lid[0] < slots_.size() && slots_[lid[0]] != nullptr &&
             slots_[lid[0]]->id == gid[0]) {
    return lid[0];
  }
  complain("object " + std::to_string(gid[0]) + " is not where its local id says");
  return no_slot;
}

int Application::number_of_objects() const { return static_cast<int>(slot_of_id_.size()); }

void Application::list_objects(ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR lids) const {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot] == nullptr) continue;
    for (int e = 0; e < forms_.gid_entries; ++e)
      *gids++ = slots_[slot]->id + static_cast<ZOLTAN_ID_TYPE>(e);
    for (int e = 0; e < forms_.lid_entries; ++e)
      *lids++ = static_cast<ZOLTAN_ID_TYPE>(slot) + static_cast<ZOLTAN_ID_TYPE>(e);
  }
}

std::vector<ZOLTAN_ID_TYPE> Application::ids() const {
  std::vector<ZOLTAN_ID_TYPE> result;
  for (const auto& slot : slots_)
    if (slot != nullptr) result.push_back(slot->id);
  return result;
}

std::uint64_t Application::objects() const { return slot_of_id_.size() + output_.size(); }

void Application::begin_sizes(int count, ZOLTAN_ID_PTR gids) {
  if (behaviour_ != Behaviour::paired_callbacks) return;
  // A single form is asked object by object: the pairs are then lists of the objects in a row.
  if (forms_.size_multi) {
    paired_.clear();
    shared_.clear();
  }
  for (int k = 0; k < count; ++k) paired_.push_back(gids[k * forms_.gid_entries]);
}

int Application::size(ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid) {
  const std::size_t slot = slot_of(gid, lid);
  if (slot == no_slot) return 0;
  if (behaviour_ == Behaviour::paired_callbacks) shared_.push_back(slots_[slot]->payload);
  return static_cast<int>(slots_[slot]->payload.size());
}

void Application::begin_packs(int count, ZOLTAN_ID_PTR gids) {
  if (behaviour_ != Behaviour::paired_callbacks || !forms_.size_multi) return;
  bool same = paired_.size() == static_cast<std::size_t>(count);
  for (int k = 0; same && k < count; ++k)
    same = paired_[static_cast<std::size_t>(k)] == gids[k * forms_.gid_entries];
  if (!same) complain("pack was called with another list than sizes just before");
}

void Application::pack(ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid, int destination, int bytes,
                       char* buffer) {
  log(event_pack, std::uint64_t{gid[0]} << 16 | static_cast<std::uint64_t>(destination));
  const std::size_t slot = slot_of(gid, lid);
  if (slot == no_slot) return;
  std::vector<unsigned char> payload = slots_[slot]->payload;
  if (behaviour_ == Behaviour::paired_callbacks) {
    const auto at = std::find(paired_.rbegin(), paired_.rend(), gid[0]);
    if (at == paired_.rend()) {
      complain("pack without a size");
      return;
    }
    payload.swap(shared_[static_cast<std::size_t>(paired_.rend() - at - 1)]);
  }
  if (static_cast<std::size_t>(bytes) != (payload.size() + 7) / 8 * 8)
    complain("pack got a size that was not asked for");
  if (!payload.empty()) std::memcpy(buffer, payload.data(), payload.size());
  if (behaviour_ == Behaviour::drop_in_pack) {
    slots_[slot].reset();
    slot_of_id_.erase(gid[0]);
  }
}

void Application::begin_unpacks(int count) {
  if (count > 0 && ++unpack_calls_ > 1 && behaviour_ == Behaviour::paired_callbacks)
    complain("more than one unpack");
}

void Application::unpack(ZOLTAN_ID_PTR gid, int bytes, const char* buffer) {
  log(event_unpack, std::uint64_t{gid[0]} << 16 | static_cast<std::uint64_t>(bytes));
  if (!mid_done_) complain("an unpack before mid");
  for (int e = 1; e < forms_.gid_entries; ++e)
    if (gid[e] != gid[0] + static_cast<ZOLTAN_ID_TYPE>(e)) complain("a global id is damaged");
  // With the padding: what the sender did not write is part of what arrives.
  Object object{gid[0], {buffer, buffer + bytes}};
  if (behaviour_ == Behaviour::copy_out) {
    if (output_.size() == output_room_) complain("more arrivals than pre was given");
    output_.push_back(std::move(object));
  } else if (behaviour_ == Behaviour::drop_in_pack && !reserved_.empty()) {
    const std::size_t slot = reserved_.back();
    reserved_.pop_back();
    put(slot, std::move(object));
  } else {
    put(slots_.size(), std::move(object));
  }
}

void Application::pre(int imports, int exports, ZOLTAN_ID_PTR export_gids,
                      ZOLTAN_ID_PTR export_lids) {
  log(event_pre, static_cast<std::uint64_t>(exports + 1));
  output_room_ = static_cast<std::size_t>(std::max(imports, 0));
  if (behaviour_ != Behaviour::drop_in_pack) return;
  for (int k = exports - 1; k >= 0; --k)
    reserved_.push_back(
        slot_of(export_gids + k * forms_.gid_entries, lid_at(export_lids, forms_.lid_entries, k)));
}

void Application::mid(int exports, ZOLTAN_ID_PTR export_gids) {
  log(event_mid, static_cast<std::uint64_t>(exports + 1));
  mid_done_ = true;
  if (behaviour_ == Behaviour::communicate) {
    long long here = number_of_objects();
    long long all = 0;
    MPI_Allreduce(&here, &all, 1, MPI_LONG_LONG, MPI_SUM, communicator_);
    log(event_mid, static_cast<std::uint64_t>(all));
  }
  if (behaviour_ != Behaviour::compact_in_mid && behaviour_ != Behaviour::communicate) return;
  for (int k = 0; k < exports; ++k) {
    const auto found = slot_of_id_.find(export_gids[k * forms_.gid_entries]);
    if (found == slot_of_id_.end()) continue;
    slots_[found->second].reset();
    slot_of_id_.erase(found);
  }
  slots_.erase(std::remove(slots_.begin(), slots_.end(), nullptr), slots_.end());
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) slot_of_id_[slots_[slot]->id] = slot;
}

void Application::post() {
  log(event_post);
  if (behaviour_ != Behaviour::communicate) return;
  long long here = number_of_objects();
  long long all = 0;
  MPI_Allreduce(&here, &all, 1, MPI_LONG_LONG, MPI_SUM, communicator_);
  log(event_post, static_cast<std::uint64_t>(all));
}

void Application::after_migration(const std::vector<ZOLTAN_ID_TYPE>& exported) {
  if (behaviour_ != Behaviour::paired_callbacks) return;
  for (const ZOLTAN_ID_TYPE id : exported) {
    const auto found = slot_of_id_.find(id);
    if (found == slot_of_id_.end()) continue;
    slots_[found->second].reset();
    slot_of_id_.erase(found);
  }
}

std::vector<unsigned char> Application::state() const {
  std::vector<unsigned char> bytes;
  const auto append = [&](const auto& value) {
    const auto* const first = reinterpret_cast<const unsigned char*>(&value);
    bytes.insert(bytes.end(), first, first + sizeof value);
  };
  const auto append_object = [&](const Object& object) {
    append(object.id);
    append(object.payload.size());
    bytes.insert(bytes.end(), object.payload.begin(), object.payload.end());
  };
  for (const auto& slot : slots_) slot == nullptr ? append(~0) : append_object(*slot);
  for (const Object& object : output_) append_object(object);
  for (const std::uint64_t entry : log_) append(entry);
  return bytes;
}

}  // namespace clients

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "testing.hpp"
#include <valet/zoltan/valet_zoltan.h>

namespace valet::test {

/// An application with ids of one word. It answers Zoltan for one object at a time, whether
/// callbacks are registered for one or for many.
class ObjectClient {
 public:
  using Id = ZOLTAN_ID_TYPE;
  using Parameters = std::vector<std::pair<const char*, std::string>>;
  /// What an application is called for.
  enum Call { in_size, in_pack, in_unpack, in_pre, in_mid, in_post, in_free, in_memory, all_calls };

  ObjectClient(const Parameters& parameters, bool multi) : zoltan(Zoltan_Create(MPI_COMM_WORLD)) {
    set("DEBUG_LEVEL", "0");
    for (const auto& [name, value] : parameters) set(name, value);
    if (multi) {
      Zoltan_Set_Obj_Size_Multi_Fn(zoltan, size_many, this);
      Zoltan_Set_Pack_Obj_Multi_Fn(zoltan, pack_many, this);
      Zoltan_Set_Unpack_Obj_Multi_Fn(zoltan, unpack_many, this);
    } else {
      Zoltan_Set_Obj_Size_Fn(zoltan, size_one, this);
      Zoltan_Set_Pack_Obj_Fn(zoltan, pack_one, this);
      Zoltan_Set_Unpack_Obj_Fn(zoltan, unpack_one, this);
    }
  }
  ObjectClient(const ObjectClient&) = delete;
  ObjectClient& operator=(const ObjectClient&) = delete;
  virtual ~ObjectClient() { Zoltan_Destroy(&zoltan); }

  void set(const char* name, const std::string& value) {
    EXPECT_EQ(Zoltan_Set_Param(zoltan, name, value.c_str()), ZOLTAN_OK) << name;
  }
  /// Registers the other callbacks, too: pre, mid and post, in which all ranks meet as in real
  /// ones, so that whoever comes there alone waits for ever, and the two of Valet.
  void register_all(bool with_parts) {
    if (with_parts) {
      Zoltan_Set_Pre_Migrate_PP_Fn(zoltan, stage_with_parts<in_pre>, this);
      Zoltan_Set_Mid_Migrate_PP_Fn(zoltan, stage_with_parts<in_mid>, this);
      Zoltan_Set_Post_Migrate_PP_Fn(zoltan, stage_with_parts<in_post>, this);
    } else {
      Zoltan_Set_Pre_Migrate_Fn(zoltan, stage<in_pre>, this);
      Zoltan_Set_Mid_Migrate_Fn(zoltan, stage<in_mid>, this);
      Zoltan_Set_Post_Migrate_Fn(zoltan, stage<in_post>, this);
    }
    Valet_Set_Free_Obj_Fn(zoltan, free_one, this);
    Valet_Set_Memory_Fn(zoltan, memory_left, this);
  }
  void export_to(int rank, Id gid, Id lid) {
    gids.push_back(gid);
    lids.push_back(lid);
    procs.push_back(rank);
  }
  /// Migrates the exports.
  int migrate() {
    const int code = Zoltan_Migrate(zoltan, -1, nullptr, nullptr, nullptr, nullptr,
                                    static_cast<int>(gids.size()), gids.data(), lids.data(),
                                    procs.data(), nullptr);
    Valet_Get_Report(zoltan, &report);
    return code;
  }
  /// A call with this handle; keeps what is printed, and the report.
  template <class ZoltanCall>
  int quietly(ZoltanCall&& call) {
    testing::internal::CaptureStderr();
    const int code = call();
    printed = testing::internal::GetCapturedStderr();
    Valet_Get_Report(zoltan, &report);
    return code;
  }
  int migrate_quietly() {
    return quietly([this] { return migrate(); });
  }

  Zoltan_Struct* zoltan;
  std::vector<Id> gids, lids;
  std::vector<int> procs;
  Valet_Migration_Report report{};
  std::string printed;

 protected:
  virtual int size_of(Id gid, Id lid) = 0;
  /// @param part  Where it goes: its rank, or its part where the lists have parts.
  virtual void pack(Id gid, Id lid, int part, int bytes, char* to) = 0;
  virtual void unpack(Id gid, int bytes, char* from) = 0;
  /// At the beginning of a callback. @return Its code; may throw.
  virtual int begins(Call /*call*/) { return ZOLTAN_OK; }
  /// Before the first object of a callback for many.
  virtual void pack_begins(int /*count*/) {}
  virtual void unpack_begins(int /*count*/) {}

 private:
  static ObjectClient& of(void* data) { return *static_cast<ObjectClient*>(data); }
  static int size_one(void* data, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid, int* code) {
    *code = of(data).begins(in_size);
    return of(data).size_of(*gid, *lid);
  }
  static void size_many(void* data, int, int, int count, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR lids,
                        int* sizes, int* code) {
    *code = of(data).begins(in_size);
    for (int k = 0; k < count; ++k) sizes[k] = of(data).size_of(gids[k], lids[k]);
  }
  static void pack_one(void* data, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid, int part,
                       int bytes, char* to, int* code) {
    *code = of(data).begins(in_pack);
    of(data).pack(*gid, *lid, part, bytes, to);
  }
  static void pack_many(void* data, int, int, int count, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR lids,
                        int* parts, int* sizes, int* offsets, char* to, int* code) {
    *code = of(data).begins(in_pack);
    of(data).pack_begins(count);
    for (int k = 0; k < count; ++k)
      of(data).pack(gids[k], lids[k], parts[k], sizes[k], to + offsets[k]);
  }
  static void unpack_one(void* data, int, ZOLTAN_ID_PTR gid, int bytes, char* from, int* code) {
    *code = of(data).begins(in_unpack);
    of(data).unpack(*gid, bytes, from);
  }
  static void unpack_many(void* data, int, int count, ZOLTAN_ID_PTR gids, int* sizes, int* offsets,
                          char* from, int* code) {
    *code = of(data).begins(in_unpack);
    of(data).unpack_begins(count);
    for (int k = 0; k < count; ++k) of(data).unpack(gids[k], sizes[k], from + offsets[k]);
  }
  template <Call call>
  static void stage_with_parts(void* data, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*,
                               int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int* code) {
    MPI_Barrier(MPI_COMM_WORLD);
    *code = of(data).begins(call);
  }
  template <Call call>
  static void stage(void* data, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int,
                    ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int* code) {
    MPI_Barrier(MPI_COMM_WORLD);
    *code = of(data).begins(call);
  }
  static void free_one(void* data, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int* code) {
    *code = of(data).begins(in_free);
  }
  static std::uint64_t memory_left(void* data, int* code) {
    *code = of(data).begins(in_memory);
    return 1000;
  }
};

}  // namespace valet::test

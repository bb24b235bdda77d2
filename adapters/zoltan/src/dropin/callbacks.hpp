// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The callbacks of one Zoltan_Struct behind one object, which hides whether the application gave
/// the single or the multi form and which of the forms with parts. Everything here is local.

#include <valet/error.hpp>
#include <valet/ledger.hpp>
#include <valet/zoltan/valet_zoltan.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace valet::zoltan {

class PackGuard;

/// NUM_GID_ENTRIES and NUM_LID_ENTRIES.
struct EntryCounts {
  int gid = 1;
  int lid = 1;
  [[nodiscard]] std::size_t bytes() const {
    return sizeof(ZOLTAN_ID_TYPE) * static_cast<std::size_t>(gid + lid);
  }
};

/// Global and local ids of objects consecutive; a view.
struct ObjectIds {
  ZOLTAN_ID_PTR gids = nullptr;
  ZOLTAN_ID_PTR lids = nullptr;  ///< may be null where there are no local ids

  [[nodiscard]] ZOLTAN_ID_PTR gid(const EntryCounts& entries, std::uint64_t k) const {
    return gids + k * static_cast<std::uint64_t>(entries.gid);
  }
  [[nodiscard]] ZOLTAN_ID_PTR lid(const EntryCounts& entries, std::uint64_t k) const {
    return entries.lid == 0 || lids == nullptr ? nullptr
                                               : lids + k * static_cast<std::uint64_t>(entries.lid);
  }
  /// Copies the ids of object k to object `at` of others; local ids where those have some.
  void copy(const EntryCounts& entries, std::uint64_t k, const ObjectIds& to,
            std::uint64_t at) const {
    std::copy_n(gid(entries, k), entries.gid, to.gid(entries, at));
    if (ZOLTAN_ID_PTR const ids = to.lid(entries, at))
      std::copy_n(lid(entries, k), entries.lid, ids);
  }
  [[nodiscard]] ObjectIds from(const EntryCounts& entries, std::uint64_t k) const {
    return {gid(entries, k), lid(entries, k)};
  }
};

/// One of the lists that pre, mid and post get.
struct MigrationList {
  int count = -1;
  ObjectIds ids;
  int* procs = nullptr;
  int* parts = nullptr;
};

/// Objects to be packed together: where each belongs in memory.
struct PackBatch {
  ObjectIds ids;
  int* destinations = nullptr;   ///< parts, or ranks where there are no parts
  std::span<int> sizes;          ///< written: rounded up, as Zoltan does
  std::span<const int> offsets;  ///< in `memory`
  std::byte* memory = nullptr;
  Ledger* guards = nullptr;  ///< MIGRATE_VERIFY: counts the memory of guard bytes
};

/// Objects to be unpacked together.
struct UnpackBatch {
  ZOLTAN_ID_PTR gids = nullptr;
  std::span<int> sizes;
  std::span<int> offsets;
  std::byte* memory = nullptr;
};

/// Zoltan's rounding of sizes: objects start at multiples of 8.
[[nodiscard]] constexpr int rounded_size(int size) { return (size + 7) & ~7; }
constexpr int largest_size = 0x7FFFFFF8;

class Callbacks {
 public:
  explicit Callbacks(Zoltan_Struct* zoltan) : zoltan_(zoltan) { read_all(); }

  void set_entries(EntryCounts entries) { entries_ = entries; }
  [[nodiscard]] const EntryCounts& entries() const { return entries_; }

  /// What is not registered and must be.
  [[nodiscard]] std::optional<Diagnostic> missing() const;
  [[nodiscard]] std::optional<Diagnostic> missing_unpack() const;
  [[nodiscard]] bool has_pre() const { return pre_pp_.given() || pre_.given(); }
  [[nodiscard]] bool has_mid() const { return mid_pp_.given() || mid_.given(); }
  [[nodiscard]] bool has_post() const { return post_pp_.given() || post_.given(); }
  [[nodiscard]] bool has_memory() const { return memory_.given(); }
  [[nodiscard]] bool has_free() const { return free_.given(); }
  [[nodiscard]] bool has_count() const { return count_.given(); }
  [[nodiscard]] bool has_object_list() const { return count_.given() && list_.given(); }
  /// OBJ_WEIGHT_DIM.
  [[nodiscard]] int object_weights() const { return object_weights_; }
  [[nodiscard]] bool unpacks_many() const { return unpack_multi_.given(); }

  // Any of them may register others, which count from then on, as in stock Zoltan.
  std::optional<Diagnostic> pre(const MigrationList& imports, const MigrationList& exports);
  std::optional<Diagnostic> mid(const MigrationList& imports, const MigrationList& exports);
  std::optional<Diagnostic> post(const MigrationList& imports, const MigrationList& exports);

  /// Asks for the sizes of objects and rounds them up. `first` counts in the list of all, for
  /// messages.
  std::optional<Diagnostic> sizes(const ObjectIds& ids, std::uint64_t first, std::span<int> sizes);
  /// Packs into memory that is cleared first; counts what was packed into `done`.
  /// @param before      The sizes of the objects as they were given before.
  /// @param asks_again  Asks for them once more. Sizes come in pairs with packs, on the same list:
  ///                    some applications let them share memory.
  std::optional<Diagnostic> pack(const PackBatch& batch, std::span<const int> before,
                                 bool asks_again, std::uint64_t first, std::uint64_t& done);
  std::optional<Diagnostic> unpack_many(const UnpackBatch& batch, std::uint64_t first);
  std::optional<Diagnostic> unpack_one(ZOLTAN_ID_PTR gid, int size, std::byte* memory,
                                       std::uint64_t number);
  /// Tells the application that an object has left, if it wants to know.
  std::optional<Diagnostic> free_one(const ObjectIds& ids, std::uint64_t number);
  /// Asks what the application can take right now; has_memory().
  std::optional<Diagnostic> memory(std::uint64_t step, std::uint64_t& answer);

  /// The objects of this rank, by ZOLTAN_NUM_OBJ_FN; has_count().
  std::optional<Diagnostic> count(std::uint64_t& objects);
  /// All of them, by ZOLTAN_OBJ_LIST_FN; has_object_list().
  /// @param weights  Room for object_weights() each.
  std::optional<Diagnostic> list_objects(const ObjectIds& ids, float* weights);

  /// "the object with global id 17 (number 3 of the exports)".
  [[nodiscard]] std::string named(ZOLTAN_ID_PTR gid, std::uint64_t number, const char* list) const;

  /// What guard bytes have taken at most, at a time.
  [[nodiscard]] std::uint64_t guard_bytes() const { return guard_bytes_; }
  /// The warning, if any, that the last of the callbacks after the move came back with.
  [[nodiscard]] int last_code() const { return last_code_; }

 private:
  template <class Function>
  struct Registered {
    Function* function = nullptr;
    void* data = nullptr;
    [[nodiscard]] bool given() const { return function != nullptr; }
  };

  void read_all();
  template <class Function>
  void read(ZOLTAN_FN_TYPE type, Registered<Function>& into);
  /// The error code of a callback. What it throws counts as an error, too: other ranks wait.
  template <class Call>
  int code_of(Call&& call);
  int keep_exception();
  [[nodiscard]] std::optional<Diagnostic> judge(int code, const char* function,
                                                const std::string& object);
  [[nodiscard]] std::optional<Diagnostic> with_likely_cause(
      std::optional<Diagnostic> diagnostic) const;
  [[nodiscard]] std::optional<Diagnostic> set_sizes(const PackBatch& batch,
                                                    std::span<const int> before, bool asks_again,
                                                    std::uint64_t first);
  [[nodiscard]] std::optional<Diagnostic> call_pack(const PackBatch& batch, std::uint64_t first,
                                                    std::uint64_t& done);
  [[nodiscard]] std::optional<Diagnostic> pack_objects(const PackBatch& batch, PackGuard* guard,
                                                       std::uint64_t first, std::uint64_t& done);
  [[nodiscard]] Diagnostic overrun(const PackBatch& batch, std::size_t k,
                                   std::uint64_t first) const;
  [[nodiscard]] std::string named_range(ZOLTAN_ID_PTR gids, std::uint64_t first,
                                        std::uint64_t count, const char* list) const;

  template <class WithParts, class Plain>
  std::optional<Diagnostic> call_stage(WithParts& with_parts, Plain& plain, const char* stage,
                                       const MigrationList& imports, const MigrationList& exports);

  Zoltan_Struct* zoltan_;
  EntryCounts entries_;
  int last_code_ = ZOLTAN_OK;
  std::uint64_t guard_bytes_ = 0;
  bool mid_ran_ = false;
  std::string thrown_;  ///< by the last callback, if it threw
  Registered<ZOLTAN_OBJ_SIZE_FN> size_;
  Registered<ZOLTAN_OBJ_SIZE_MULTI_FN> size_multi_;
  Registered<ZOLTAN_PACK_OBJ_FN> pack_;
  Registered<ZOLTAN_PACK_OBJ_MULTI_FN> pack_multi_;
  Registered<ZOLTAN_UNPACK_OBJ_FN> unpack_;
  Registered<ZOLTAN_UNPACK_OBJ_MULTI_FN> unpack_multi_;
  Registered<ZOLTAN_PRE_MIGRATE_PP_FN> pre_pp_;
  Registered<ZOLTAN_PRE_MIGRATE_FN> pre_;
  Registered<ZOLTAN_MID_MIGRATE_PP_FN> mid_pp_;
  Registered<ZOLTAN_MID_MIGRATE_FN> mid_;
  Registered<ZOLTAN_POST_MIGRATE_PP_FN> post_pp_;
  Registered<ZOLTAN_POST_MIGRATE_FN> post_;
  Registered<VALET_FREE_OBJ_FN> free_;
  Registered<VALET_MEMORY_FN> memory_;
  Registered<ZOLTAN_NUM_OBJ_FN> count_;
  Registered<ZOLTAN_OBJ_LIST_FN> list_;
  int object_weights_ = 0;
};

}  // namespace valet::zoltan

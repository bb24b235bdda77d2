// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The callbacks of one Zoltan_Struct behind one object, which hides whether the application gave
/// the single or the multi form and which of the forms with parts. Everything here is local.

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "batches.hpp"
#include "handle_state.hpp"
#include "pack_guard.hpp"
#include <valet/error.hpp>
#include <valet/ledger.hpp>
#include <valet/zoltan/valet_zoltan.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace valet::zoltan {

/// Runs what may find no memory; the answer is agreed upon with the other ranks later.
template <class Action>
std::optional<Diagnostic> within_memory(const char* what, Action&& action) {
  return valet::detail::unless_out_of_memory(std::forward<Action>(action), [what] {
    return Diagnostic{ErrorCode::out_of_memory, std::string("no memory for ") + what};
  });
}

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
  /// "the export with global id 17".
  [[nodiscard]] std::string named(const std::string& what, const EntryCounts& entries,
                                  std::uint64_t k) const {
    std::string text = what + " with global id";
    for (int e = 0; e < entries.gid; ++e)
      text.append(" ").append(std::to_string(gid(entries, k)[e]));
    return text;
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

/// Zoltan's rounding of sizes: objects start at multiples of 8.
[[nodiscard]] constexpr int rounded_size(int size) { return (size + 7) & ~7; }
constexpr int largest_size = 0x7FFFFFF8;

class Callbacks {
 public:
  explicit Callbacks(Zoltan_Struct* zoltan) : zoltan_(zoltan) { read_all(); }

  void set_entries(EntryCounts entries) { entries_ = entries; }
  [[nodiscard]] const EntryCounts& entries() const { return entries_; }

  /// What is not registered and must be.
  [[nodiscard]] std::optional<Diagnostic> missing() const {
    if (!size_.given() && !size_multi_.given())
      return must_register("ZOLTAN_OBJ_SIZE_FN or ZOLTAN_OBJ_SIZE_MULTI_FN");
    if (!pack_.given() && !pack_multi_.given())
      return must_register("ZOLTAN_PACK_OBJ_FN or ZOLTAN_PACK_OBJ_MULTI_FN");
    return missing_unpack();
  }

  [[nodiscard]] std::optional<Diagnostic> missing_unpack() const {
    if (unpack_.given() || unpack_multi_.given()) return std::nullopt;
    return must_register("ZOLTAN_UNPACK_OBJ_FN or ZOLTAN_UNPACK_OBJ_MULTI_FN");
  }
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
  std::optional<Diagnostic> pre(const MigrationList& imports, const MigrationList& exports) {
    return call_stage(pre_pp_, pre_, "PRE", imports, exports);
  }

  std::optional<Diagnostic> mid(const MigrationList& imports, const MigrationList& exports) {
    last_code_ = ZOLTAN_OK;  // what came before the move does not count any more
    mid_ran_ = true;
    return call_stage(mid_pp_, mid_, "MID", imports, exports);
  }

  std::optional<Diagnostic> post(const MigrationList& imports, const MigrationList& exports) {
    return call_stage(post_pp_, post_, "POST", imports, exports);
  }

  /// Asks for the sizes of objects and rounds them up. `first` counts in the list of all, for
  /// messages.
  std::optional<Diagnostic> sizes(const ObjectIds& ids, std::uint64_t first, std::span<int> sizes) {
    if (sizes.empty()) return std::nullopt;
    if (size_multi_.given()) {
      last_code_ = call(size_multi_, entries_.gid, entries_.lid, static_cast<int>(sizes.size()),
                        ids.gids, ids.lids, sizes.data());
      if (last_code_ < 0)
        return failure(last_code_, "ZOLTAN_OBJ_SIZE_MULTI_FN",
                       named_range(ids.gids, first, sizes.size(), "exports"));
    }
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const ZOLTAN_ID_PTR gid = ids.gid(entries_, k);
      if (!size_multi_.given()) {
        last_code_ = code_of([&](int* code) {
          sizes[k] = size_.function(size_.data, entries_.gid, entries_.lid, gid,
                                    ids.lid(entries_, k), code);
        });
        if (last_code_ < 0)
          return failure(last_code_, "ZOLTAN_OBJ_SIZE_FN", named(gid, first + k, "exports"));
      }
      if (sizes[k] < 0 || sizes[k] > largest_size)
        return invalid("a size of ", sizes[k], " bytes for ", named(gid, first + k, "exports"),
                       "; sizes are from 0 to ", largest_size);
      sizes[k] = rounded_size(sizes[k]);
    }
    return std::nullopt;
  }

  /// Packs into memory that is cleared first; counts what was packed into `done`.
  /// @param before      The sizes of the objects as they were given before.
  /// @param asks_again  Asks for them once more. Sizes come in pairs with packs, on the same list:
  ///                    some applications let them share memory.
  std::optional<Diagnostic> pack(const PackBatch& batch, std::span<const int> before,
                                 bool asks_again, std::uint64_t first, std::uint64_t& done) {
    if (batch.sizes.empty()) return std::nullopt;
    auto diagnostic = set_sizes(batch, before, asks_again, first);
    if (!diagnostic) diagnostic = call_pack(batch, first, done);
    return with_likely_cause(std::move(diagnostic));
  }

  std::optional<Diagnostic> unpack_many(ZOLTAN_ID_PTR gids, std::span<int> sizes, int* offsets,
                                        std::byte* memory, std::uint64_t first) {
    last_code_ = call(unpack_multi_, entries_.gid, static_cast<int>(sizes.size()), gids,
                      sizes.data(), offsets, reinterpret_cast<char*>(memory));
    return judge(last_code_, "ZOLTAN_UNPACK_OBJ_MULTI_FN",
                 [&] { return named_range(gids, first, sizes.size(), "imports"); });
  }

  std::optional<Diagnostic> unpack_one(ZOLTAN_ID_PTR gid, int size, std::byte* memory,
                                       std::uint64_t number) {
    last_code_ = call(unpack_, entries_.gid, gid, size, reinterpret_cast<char*>(memory));
    return judge(last_code_, "ZOLTAN_UNPACK_OBJ_FN", [&] { return named(gid, number, "imports"); });
  }

  /// Tells the application that an object has left, if it wants to know.
  std::optional<Diagnostic> free_one(const ObjectIds& ids, std::uint64_t number) {
    if (!free_.given()) return std::nullopt;
    const ZOLTAN_ID_PTR gid = ids.gid(entries_, number);
    const int code = call(free_, entries_.gid, entries_.lid, gid, ids.lid(entries_, number));
    return with_likely_cause(
        judge(code, "VALET_FREE_OBJ_FN", [&] { return named(gid, number, "exports"); }));
  }

  /// Asks what the application can take right now; has_memory().
  std::optional<Diagnostic> memory(std::uint64_t step, std::uint64_t& answer) {
    const int code = code_of([&](int* ours) { answer = memory_.function(memory_.data, ours); });
    return judge(code, "VALET_MEMORY_FN", [&] { return "step " + std::to_string(step); });
  }

  /// The objects of this rank, by ZOLTAN_NUM_OBJ_FN; has_count().
  std::optional<Diagnostic> count(std::uint64_t& objects) {
    if (!has_count()) return std::nullopt;
    int count = 0;
    const int code = code_of([&](int* answer) { count = count_.function(count_.data, answer); });
    if (code < 0) return failure(code, "ZOLTAN_NUM_OBJ_FN");
    objects = static_cast<std::uint64_t>(std::max(count, 0));
    return std::nullopt;
  }

  /// All of them, by ZOLTAN_OBJ_LIST_FN; has_object_list().
  /// @param weights  Room for object_weights() each.
  std::optional<Diagnostic> list_objects(const ObjectIds& ids, float* weights) {
    const int code =
        call(list_, entries_.gid, entries_.lid, ids.gids, ids.lids, object_weights_, weights);
    return judge(code, "ZOLTAN_OBJ_LIST_FN", no_object);
  }

  /// "the object with global id 17 (number 3 of the exports)".
  [[nodiscard]] std::string named(ZOLTAN_ID_PTR gid, std::uint64_t number, const char* list) const {
    return ObjectIds{gid}.named("the object", entries_, 0) + " (number " + std::to_string(number) +
           " of the " + list + ")";
  }

  /// What guard bytes have taken at most, at a time.
  [[nodiscard]] std::uint64_t guard_bytes() const { return guard_bytes_; }
  /// The warning, if any, that the last of the callbacks after the move came back with.
  [[nodiscard]] int last_code() const { return last_code_; }

 private:
  [[nodiscard]] static Diagnostic must_register(const char* what) {
    return invalid("Must register a ", what, " function to migrate.");
  }

  /// A callback that is registered with Zoltan.
  template <class Function, ZOLTAN_FN_TYPE type>
  struct OfZoltan : Registered<Function> {
    void read(Zoltan_Struct* zoltan) {
      ZOLTAN_VOID_FN* found = nullptr;
      *this = {};
      if (Zoltan_Get_Fn(zoltan, type, &found, &this->data) < 0) return;
      this->function = reinterpret_cast<Function*>(found);
    }
  };

  void read_all() {
    const auto read = [this](auto&... callbacks) { (callbacks.read(zoltan_), ...); };
    read(size_, size_multi_, pack_, pack_multi_, unpack_, unpack_multi_, pre_pp_, pre_, mid_pp_,
         mid_, post_pp_, post_, count_, list_);
    const HandleState own = handle_state_of(zoltan_);
    free_ = own.free_object;
    memory_ = own.memory;
    object_weights_ =
        own.object_weights.value_or(handle_state_of(nullptr).object_weights.value_or(0));
  }

  /// The error code of a callback. What it throws counts as an error, too: other ranks wait.
  template <class Call>
  int code_of(Call&& call) {
    int code = ZOLTAN_OK;
    try {
      const valet::detail::LeaveReserve leave;
      call(&code);
    } catch (...) {
      code = keep_exception();
    }
    return code;
  }

  template <class Function, class... Arguments>
  int call(const Registered<Function>& callback, Arguments... arguments) {
    return code_of([&](int* code) { callback.function(callback.data, arguments..., code); });
  }

  /// Keeps the exception at hand.
  int keep_exception() {
    try {
      throw;
    } catch (const std::bad_alloc& error) {
      thrown_ = error.what();
      return ZOLTAN_MEMERR;
    } catch (const std::exception& error) {
      thrown_ = error.what();
    } catch (...) {
      thrown_.clear();
    }
    if (thrown_.empty()) thrown_ = "without a text";
    return ZOLTAN_FATAL;
  }

  /// The error that the code of a function stands for, if any; object() names what it was about.
  template <class Object>
  [[nodiscard]] std::optional<Diagnostic> judge(int code, const char* function, Object&& object) {
    if (code >= 0) return std::nullopt;
    return failure(code, function, object());
  }
  static std::string no_object() { return {}; }

  [[nodiscard]] Diagnostic failure(int code, const std::string& function,
                                   const std::string& object = {}) {
    std::string text = (thrown_.empty() ? "Error returned from " : "Exception thrown by ") +
                       function + " function";
    if (!object.empty()) text += " for " + object;
    text += thrown_.empty() ? "." : ": " + thrown_;
    thrown_.clear();
    return {code == ZOLTAN_MEMERR ? ErrorCode::out_of_memory : ErrorCode::invalid_argument, text};
  }

  /// Adds what probably went wrong with an object that has not left yet, when mid has run: in
  /// STEPS.
  [[nodiscard]] std::optional<Diagnostic> with_likely_cause(
      std::optional<Diagnostic> diagnostic) const {
    if (diagnostic && mid_ran_)
      diagnostic->text +=
          " With MIGRATE_CALLBACKS STEPS mid has run for earlier objects, and the local ids of "
          "those that have not left must stay valid: if mid, or what runs with it, changed them, "
          "let it "
          "keep them, or use HOLD.";
    return diagnostic;
  }

  /// The sizes of a batch are those that its objects had before, also where less would do now.
  [[nodiscard]] std::optional<Diagnostic> set_sizes(const PackBatch& batch,
                                                    std::span<const int> before, bool asks_again,
                                                    std::uint64_t first) {
    if (asks_again)
      if (auto diagnostic = sizes(batch.ids, first, batch.sizes)) return diagnostic;
    for (std::size_t k = 0; k < before.size(); ++k) {
      const int size = plain_size(before[k]);
      if (asks_again && batch.sizes[k] > size)
        return invalid("the size of number ", first + k, " of the exports grew from ", size, " to ",
                       batch.sizes[k],
                       " bytes while others were packed; give the size that is needed at once");
      batch.sizes[k] = size;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Diagnostic> call_pack(const PackBatch& batch, std::uint64_t first,
                                                    std::uint64_t& done) {
    const bool together = pack_multi_.given();
    if (batch.guards == nullptr || !PackGuard::fits(batch.sizes, together))
      return pack_objects(batch, nullptr, first, done);
    std::optional<PackGuard> guard;
    auto diagnostic = within_memory("the guard bytes of MIGRATE_VERIFY",
                                    [&] { guard.emplace(*batch.guards, batch.sizes, together); });
    if (diagnostic) return diagnostic;
    guard_bytes_ = std::max(guard_bytes_, guard->bytes());
    return pack_objects(batch, &*guard, first, done);
  }

  [[nodiscard]] std::optional<Diagnostic> pack_objects(const PackBatch& batch, PackGuard* guard,
                                                       std::uint64_t first, std::uint64_t& done) {
    const std::size_t count = batch.sizes.size();
    auto* const memory = reinterpret_cast<char*>(guard != nullptr ? guard->memory() : batch.memory);
    const int* const offsets = guard != nullptr ? guard->offsets() : batch.offsets.data();
    // What an application does not write arrives as zeros, as in stock Zoltan.
    const auto clear = [&](std::size_t k) {
      std::fill_n(memory + offsets[k], batch.sizes[k], char{0});
      if (guard != nullptr) guard->set(k);
    };
    const auto finish = [&](std::size_t k) -> std::optional<Diagnostic> {
      if (guard != nullptr) {
        if (!guard->is_intact(k)) return overrun(batch, k, first);
        std::copy_n(reinterpret_cast<const std::byte*>(memory) + offsets[k], batch.sizes[k],
                    batch.memory + batch.offsets[k]);
      }
      ++done;
      return std::nullopt;
    };
    if (pack_multi_.given()) {
      for (std::size_t k = 0; k < count; ++k) clear(k);
      const int code = call(pack_multi_, entries_.gid, entries_.lid, static_cast<int>(count),
                            batch.ids.gids, batch.ids.lids, batch.destinations, batch.sizes.data(),
                            const_cast<int*>(offsets), memory);
      if (code < 0)
        return failure(code, "ZOLTAN_PACK_OBJ_MULTI_FN",
                       named_range(batch.ids.gids, first, count, "exports"));
      for (std::size_t k = 0; k < count; ++k)
        if (auto diagnostic = finish(k)) return diagnostic;
      return std::nullopt;
    }
    for (std::size_t k = 0; k < count; ++k) {
      const ZOLTAN_ID_PTR gid = batch.ids.gid(entries_, k);
      clear(k);
      const int code = call(pack_, entries_.gid, entries_.lid, gid, batch.ids.lid(entries_, k),
                            batch.destinations[k], batch.sizes[k], memory + offsets[k]);
      if (code < 0) return failure(code, "ZOLTAN_PACK_OBJ_FN", named(gid, first + k, "exports"));
      if (auto diagnostic = finish(k)) return diagnostic;
    }
    return std::nullopt;
  }

  [[nodiscard]] Diagnostic overrun(const PackBatch& batch, std::size_t k,
                                   std::uint64_t first) const {
    return invalid(pack_multi_.given() ? "ZOLTAN_PACK_OBJ_MULTI_FN" : "ZOLTAN_PACK_OBJ_FN",
                   " wrote outside the ", batch.sizes[k],
                   " bytes (the size, rounded up to a multiple of 8) of ",
                   named(batch.ids.gid(entries_, k), first + k, "exports"),
                   "; let the size function return all bytes that are packed.");
  }

  [[nodiscard]] std::string named_range(ZOLTAN_ID_PTR gids, std::uint64_t first,
                                        std::uint64_t count, const char* list) const {
    std::string text = std::to_string(count) + " objects";
    if (count > 0) text += ", the first of them " + named(gids, first, list);
    return text;
  }

  template <class WithParts, class Plain>
  std::optional<Diagnostic> call_stage(WithParts& with_parts, Plain& plain, const char* stage,
                                       const MigrationList& imports, const MigrationList& exports) {
    const std::string name = std::string("ZOLTAN_") + stage + "_MIGRATE";
    if (with_parts.given()) {
      last_code_ = call(with_parts, entries_.gid, entries_.lid, imports.count, imports.ids.gids,
                        imports.ids.lids, imports.procs, imports.parts, exports.count,
                        exports.ids.gids, exports.ids.lids, exports.procs, exports.parts);
      read_all();
      if (last_code_ < 0) return failure(last_code_, name + "_PP_FN");
    }
    if (!plain.given()) return std::nullopt;
    last_code_ =
        call(plain, entries_.gid, entries_.lid, imports.count, imports.ids.gids, imports.ids.lids,
             imports.procs, exports.count, exports.ids.gids, exports.ids.lids, exports.procs);
    read_all();
    return judge(last_code_, (name + "_FN").c_str(), no_object);
  }

  Zoltan_Struct* zoltan_;
  EntryCounts entries_;
  int last_code_ = ZOLTAN_OK;
  std::uint64_t guard_bytes_ = 0;
  bool mid_ran_ = false;
  std::string thrown_;  ///< by the last callback, if it threw
  OfZoltan<ZOLTAN_OBJ_SIZE_FN, ZOLTAN_OBJ_SIZE_FN_TYPE> size_;
  OfZoltan<ZOLTAN_OBJ_SIZE_MULTI_FN, ZOLTAN_OBJ_SIZE_MULTI_FN_TYPE> size_multi_;
  OfZoltan<ZOLTAN_PACK_OBJ_FN, ZOLTAN_PACK_OBJ_FN_TYPE> pack_;
  OfZoltan<ZOLTAN_PACK_OBJ_MULTI_FN, ZOLTAN_PACK_OBJ_MULTI_FN_TYPE> pack_multi_;
  OfZoltan<ZOLTAN_UNPACK_OBJ_FN, ZOLTAN_UNPACK_OBJ_FN_TYPE> unpack_;
  OfZoltan<ZOLTAN_UNPACK_OBJ_MULTI_FN, ZOLTAN_UNPACK_OBJ_MULTI_FN_TYPE> unpack_multi_;
  OfZoltan<ZOLTAN_PRE_MIGRATE_PP_FN, ZOLTAN_PRE_MIGRATE_PP_FN_TYPE> pre_pp_;
  OfZoltan<ZOLTAN_PRE_MIGRATE_FN, ZOLTAN_PRE_MIGRATE_FN_TYPE> pre_;
  OfZoltan<ZOLTAN_MID_MIGRATE_PP_FN, ZOLTAN_MID_MIGRATE_PP_FN_TYPE> mid_pp_;
  OfZoltan<ZOLTAN_MID_MIGRATE_FN, ZOLTAN_MID_MIGRATE_FN_TYPE> mid_;
  OfZoltan<ZOLTAN_POST_MIGRATE_PP_FN, ZOLTAN_POST_MIGRATE_PP_FN_TYPE> post_pp_;
  OfZoltan<ZOLTAN_POST_MIGRATE_FN, ZOLTAN_POST_MIGRATE_FN_TYPE> post_;
  Registered<VALET_FREE_OBJ_FN> free_;
  Registered<VALET_MEMORY_FN> memory_;
  OfZoltan<ZOLTAN_NUM_OBJ_FN, ZOLTAN_NUM_OBJ_FN_TYPE> count_;
  OfZoltan<ZOLTAN_OBJ_LIST_FN, ZOLTAN_OBJ_LIST_FN_TYPE> list_;
  int object_weights_ = 0;
};

}  // namespace valet::zoltan

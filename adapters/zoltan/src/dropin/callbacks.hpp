// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The callbacks of one Zoltan_Struct behind one object, which hides whether the application gave
/// the single or the multi form and which of the forms with parts. Everything here is local.

#include "base/diagnose.hpp"
#include "handle/handle_state.hpp"
#include "handle/object_ids.hpp"
#include "handle/stage_callbacks.hpp"
#include "objects/sizes.hpp"
#include <valet/error.hpp>
#include <valet/ledger.hpp>
#include <valet/zoltan/valet_zoltan.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

namespace valet::zoltan {

/// MIGRATE_VERIFY: memory in which objects are packed between guard bytes, so that a pack that
/// writes past the size that was declared is found, before it reaches the objects of others.
class PackGuard {
 public:
  /// @param sizes     Of the objects of a batch.
  /// @param together  One call packs them all; otherwise all have the same place, one by one.
  /// @throws std::bad_alloc.
  PackGuard(Ledger& ledger, std::span<const int> sizes, bool together)
      : sizes_(sizes),
        together_(together),
        memory_(ledger, bytes_for(sizes, together)),
        offsets_(ledger, sizes.size()) {
    std::size_t next = guard_bytes;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      offsets_[k] = static_cast<int>(next);
      if (together) next += static_cast<std::size_t>(sizes[k]) + guard_bytes;
    }
    for (std::size_t i = 0; i < guard_bytes; ++i) memory_[i] = guard_byte(i);
  }

  /// Whether the offsets of all objects and their guards fit an int.
  [[nodiscard]] static bool fits(std::span<const int> sizes, bool together) {
    return bytes_for(sizes, together) <= std::numeric_limits<int>::max();
  }
  [[nodiscard]] std::byte* memory() { return memory_.data(); }
  [[nodiscard]] int* offsets() { return offsets_.data(); }
  /// What it takes of the ledger.
  [[nodiscard]] std::uint64_t bytes() const {
    return memory_.size() + offsets_.size() * sizeof(int);
  }

  /// Before object k is packed.
  void set(std::size_t k) {
    auto* const end = const_cast<std::byte*>(end_of(k));
    for (std::size_t i = 0; i < guard_bytes; ++i) end[i] = guard_byte(i);
  }

  /// Whether nothing was written around object k.
  [[nodiscard]] bool is_intact(std::size_t k) const {
    const auto intact = [](const std::byte* guard) {
      for (std::size_t i = 0; i < guard_bytes; ++i)
        if (guard[i] != guard_byte(i)) return false;
      return true;
    };
    const bool is_first = k == 0 || !together_;
    return intact(end_of(k)) && (!is_first || intact(memory_.data()));
  }

 private:
  static constexpr std::size_t guard_bytes = 64;
  /// Other bytes at neighbouring places, none of them zero, which is what packs write most often.
  static std::byte guard_byte(std::size_t i) { return static_cast<std::byte>(0xA5 ^ (i & 0x3F)); }
  /// Behind the last guard: most packs that write too much end within it.
  static constexpr std::size_t margin_bytes = 4096;

  [[nodiscard]] static std::uint64_t bytes_for(std::span<const int> sizes, bool together) {
    std::uint64_t bytes = 0;
    for (const int size : sizes) {
      const std::uint64_t guarded = static_cast<std::uint64_t>(size) + guard_bytes;
      bytes = together ? bytes + guarded : std::max(bytes, guarded);
    }
    return guard_bytes + bytes + margin_bytes;
  }

  [[nodiscard]] const std::byte* end_of(std::size_t k) const {
    return memory_.data() + offsets_[k] + sizes_[k];
  }

  std::span<const int> sizes_;
  bool together_;
  Array<std::byte> memory_;
  Array<int> offsets_;
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

class Callbacks final : public StageCallbacks {
 public:
  explicit Callbacks(Zoltan_Struct* zoltan) : StageCallbacks(zoltan) { read_own(); }

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
  [[nodiscard]] bool has_memory() const { return memory_.given(); }
  [[nodiscard]] bool has_free() const { return free_.given(); }
  [[nodiscard]] bool has_count() const { return count_.given(); }
  [[nodiscard]] bool has_object_list() const { return count_.given() && list_.given(); }
  /// OBJ_WEIGHT_DIM.
  [[nodiscard]] int object_weights() const { return object_weights_; }
  [[nodiscard]] bool unpacks_many() const { return unpack_multi_.given(); }

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

 private:
  [[nodiscard]] static Diagnostic must_register(const char* what) {
    return invalid("Must register a ", what, " function to migrate.");
  }

  void read_again() override {
    read_stages();
    read_own();
  }
  void read_own() {
    for_all([this](auto& callback) { callback.read(zoltan_); }, size_, size_multi_, pack_,
            pack_multi_, unpack_, unpack_multi_, count_, list_);
    free_ = copy_of(zoltan_, &HandleState::free_object);
    memory_ = copy_of(zoltan_, &HandleState::memory);
    object_weights_ =
        std::clamp(followed_number(zoltan_, "OBJ_WEIGHT_DIM").value_or(0), 0, most_weights);
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
      const int size = objects::plain_size(before[k]);
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

  static constexpr int most_weights = 1024;

  std::uint64_t guard_bytes_ = 0;
  OfZoltan<ZOLTAN_OBJ_SIZE_FN, ZOLTAN_OBJ_SIZE_FN_TYPE> size_;
  OfZoltan<ZOLTAN_OBJ_SIZE_MULTI_FN, ZOLTAN_OBJ_SIZE_MULTI_FN_TYPE> size_multi_;
  OfZoltan<ZOLTAN_PACK_OBJ_FN, ZOLTAN_PACK_OBJ_FN_TYPE> pack_;
  OfZoltan<ZOLTAN_PACK_OBJ_MULTI_FN, ZOLTAN_PACK_OBJ_MULTI_FN_TYPE> pack_multi_;
  OfZoltan<ZOLTAN_UNPACK_OBJ_FN, ZOLTAN_UNPACK_OBJ_FN_TYPE> unpack_;
  OfZoltan<ZOLTAN_UNPACK_OBJ_MULTI_FN, ZOLTAN_UNPACK_OBJ_MULTI_FN_TYPE> unpack_multi_;
  Registered<VALET_FREE_OBJ_FN> free_;
  Registered<VALET_MEMORY_FN> memory_;
  OfZoltan<ZOLTAN_NUM_OBJ_FN, ZOLTAN_NUM_OBJ_FN_TYPE> count_;
  OfZoltan<ZOLTAN_OBJ_LIST_FN, ZOLTAN_OBJ_LIST_FN_TYPE> list_;
  int object_weights_ = 0;
};

}  // namespace valet::zoltan

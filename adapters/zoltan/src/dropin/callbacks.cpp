// SPDX-License-Identifier: BSD-3-Clause
#include "callbacks.hpp"

#include "base/memory_reserve.hpp"
#include "batches.hpp"
#include "handle_state.hpp"
#include "lists.hpp"
#include "pack_guard.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

namespace valet::zoltan {

template <class Function>
void Callbacks::read(ZOLTAN_FN_TYPE type, Registered<Function>& into) {
  ZOLTAN_VOID_FN* function = nullptr;
  into = {};
  if (Zoltan_Get_Fn(zoltan_, type, &function, &into.data) < 0) return;
  into.function = reinterpret_cast<Function*>(function);
}

void Callbacks::read_all() {
  read(ZOLTAN_OBJ_SIZE_FN_TYPE, size_);
  read(ZOLTAN_OBJ_SIZE_MULTI_FN_TYPE, size_multi_);
  read(ZOLTAN_PACK_OBJ_FN_TYPE, pack_);
  read(ZOLTAN_PACK_OBJ_MULTI_FN_TYPE, pack_multi_);
  read(ZOLTAN_UNPACK_OBJ_FN_TYPE, unpack_);
  read(ZOLTAN_UNPACK_OBJ_MULTI_FN_TYPE, unpack_multi_);
  read(ZOLTAN_PRE_MIGRATE_PP_FN_TYPE, pre_pp_);
  read(ZOLTAN_PRE_MIGRATE_FN_TYPE, pre_);
  read(ZOLTAN_MID_MIGRATE_PP_FN_TYPE, mid_pp_);
  read(ZOLTAN_MID_MIGRATE_FN_TYPE, mid_);
  read(ZOLTAN_POST_MIGRATE_PP_FN_TYPE, post_pp_);
  read(ZOLTAN_POST_MIGRATE_FN_TYPE, post_);
  const HandleState own = handle_state_of(zoltan_);
  free_ = {own.free_object, own.free_data};
  memory_ = {own.memory, own.memory_data};
  read(ZOLTAN_NUM_OBJ_FN_TYPE, count_);
  read(ZOLTAN_OBJ_LIST_FN_TYPE, list_);
  object_weights_ =
      own.object_weights.value_or(handle_state_of(nullptr).object_weights.value_or(0));
}

namespace {

Diagnostic must_register(const char* what) {
  return {ErrorCode::invalid_argument,
          std::string("Must register a ") + what + " function to migrate."};
}

}  // namespace

std::optional<Diagnostic> Callbacks::missing() const {
  if (!size_.given() && !size_multi_.given())
    return must_register("ZOLTAN_OBJ_SIZE_FN or ZOLTAN_OBJ_SIZE_MULTI_FN");
  if (!pack_.given() && !pack_multi_.given())
    return must_register("ZOLTAN_PACK_OBJ_FN or ZOLTAN_PACK_OBJ_MULTI_FN");
  return missing_unpack();
}

std::optional<Diagnostic> Callbacks::missing_unpack() const {
  if (unpack_.given() || unpack_multi_.given()) return std::nullopt;
  return must_register("ZOLTAN_UNPACK_OBJ_FN or ZOLTAN_UNPACK_OBJ_MULTI_FN");
}

std::string Callbacks::named(ZOLTAN_ID_PTR gid, std::uint64_t number, const char* list) const {
  std::string text = "the object with global id";
  for (int e = 0; e < entries_.gid; ++e) text.append(" ").append(std::to_string(gid[e]));
  return text + " (number " + std::to_string(number) + " of the " + list + ")";
}

std::string Callbacks::named_range(ZOLTAN_ID_PTR gids, std::uint64_t first, std::uint64_t count,
                                   const char* list) const {
  std::string text = std::to_string(count) + " objects";
  if (count > 0) text += ", the first of them " + named(gids, first, list);
  return text;
}

template <class Call>
int Callbacks::code_of(Call&& call) {
  int code = ZOLTAN_OK;
  try {
    const valet::detail::LeaveReserve leave;
    call(&code);
  } catch (...) {
    code = keep_exception();
  }
  return code;
}

/// Keeps the exception at hand.
int Callbacks::keep_exception() {
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

std::optional<Diagnostic> Callbacks::judge(int code, const char* function,
                                           const std::string& object) {
  if (code >= 0) return std::nullopt;
  std::string text = (thrown_.empty() ? "Error returned from " : "Exception thrown by ") +
                     std::string(function) + " function";
  if (!object.empty()) text += " for " + object;
  text += thrown_.empty() ? "." : ": " + thrown_;
  thrown_.clear();
  return Diagnostic{code == ZOLTAN_MEMERR ? ErrorCode::out_of_memory : ErrorCode::invalid_argument,
                    text};
}

/// Adds what probably went wrong with an object that has not left yet, when mid has run: in STEPS.
std::optional<Diagnostic> Callbacks::with_likely_cause(std::optional<Diagnostic> diagnostic) const {
  if (diagnostic && mid_ran_)
    diagnostic->text +=
        " With MIGRATE_CALLBACKS STEPS mid has run for earlier objects, and the local ids of those "
        "that have not left must stay valid: if mid, or what runs with it, changed them, let it "
        "keep them, or use HOLD.";
  return diagnostic;
}

template <class WithParts, class Plain>
std::optional<Diagnostic> Callbacks::call_stage(WithParts& with_parts, Plain& plain,
                                                const char* stage, const MigrationList& imports,
                                                const MigrationList& exports) {
  const std::string name = std::string("ZOLTAN_") + stage + "_MIGRATE";
  if (with_parts.given()) {
    last_code_ = code_of([&](int* code) {
      with_parts.function(with_parts.data, entries_.gid, entries_.lid, imports.count,
                          imports.ids.gids, imports.ids.lids, imports.procs, imports.parts,
                          exports.count, exports.ids.gids, exports.ids.lids, exports.procs,
                          exports.parts, code);
    });
    read_all();
    if (auto diagnostic = judge(last_code_, (name + "_PP_FN").c_str(), {})) return diagnostic;
  }
  if (!plain.given()) return std::nullopt;
  last_code_ = code_of([&](int* code) {
    plain.function(plain.data, entries_.gid, entries_.lid, imports.count, imports.ids.gids,
                   imports.ids.lids, imports.procs, exports.count, exports.ids.gids,
                   exports.ids.lids, exports.procs, code);
  });
  read_all();
  return judge(last_code_, (name + "_FN").c_str(), {});
}

std::optional<Diagnostic> Callbacks::pre(const MigrationList& imports,
                                         const MigrationList& exports) {
  return call_stage(pre_pp_, pre_, "PRE", imports, exports);
}
std::optional<Diagnostic> Callbacks::mid(const MigrationList& imports,
                                         const MigrationList& exports) {
  last_code_ = ZOLTAN_OK;  // what came before the move does not count any more
  mid_ran_ = true;
  return call_stage(mid_pp_, mid_, "MID", imports, exports);
}
std::optional<Diagnostic> Callbacks::post(const MigrationList& imports,
                                          const MigrationList& exports) {
  return call_stage(post_pp_, post_, "POST", imports, exports);
}

std::optional<Diagnostic> Callbacks::sizes(const ObjectIds& ids, std::uint64_t first,
                                           std::span<int> sizes) {
  if (sizes.empty()) return std::nullopt;
  if (size_multi_.given()) {
    last_code_ = code_of([&](int* code) {
      size_multi_.function(size_multi_.data, entries_.gid, entries_.lid,
                           static_cast<int>(sizes.size()), ids.gids, ids.lids, sizes.data(), code);
    });
    if (last_code_ < 0)
      return judge(last_code_, "ZOLTAN_OBJ_SIZE_MULTI_FN",
                   named_range(ids.gids, first, sizes.size(), "exports"));
  }
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const ZOLTAN_ID_PTR gid = ids.gid(entries_, k);
    if (!size_multi_.given()) {
      last_code_ = code_of([&](int* code) {
        sizes[k] =
            size_.function(size_.data, entries_.gid, entries_.lid, gid, ids.lid(entries_, k), code);
      });
      if (last_code_ < 0)
        return judge(last_code_, "ZOLTAN_OBJ_SIZE_FN", named(gid, first + k, "exports"));
    }
    if (sizes[k] < 0 || sizes[k] > largest_size)
      return Diagnostic{ErrorCode::invalid_argument,
                        "a size of " + std::to_string(sizes[k]) + " bytes for " +
                            named(gid, first + k, "exports") + "; sizes are from 0 to " +
                            std::to_string(largest_size)};
    sizes[k] = rounded_size(sizes[k]);
  }
  return std::nullopt;
}

/// The sizes of a batch are those that its objects had before, also where less would do now.
std::optional<Diagnostic> Callbacks::set_sizes(const PackBatch& batch, std::span<const int> before,
                                               bool asks_again, std::uint64_t first) {
  if (asks_again)
    if (auto diagnostic = sizes(batch.ids, first, batch.sizes)) return diagnostic;
  for (std::size_t k = 0; k < before.size(); ++k) {
    const int size = plain_size(before[k]);
    if (asks_again && batch.sizes[k] > size)
      return Diagnostic{ErrorCode::invalid_argument,
                        "the size of number " + std::to_string(first + k) +
                            " of the exports grew from " + std::to_string(size) + " to " +
                            std::to_string(batch.sizes[k]) +
                            " bytes while others were packed; give the size that is needed at "
                            "once"};
    batch.sizes[k] = size;
  }
  return std::nullopt;
}

std::optional<Diagnostic> Callbacks::pack(const PackBatch& batch, std::span<const int> before,
                                          bool asks_again, std::uint64_t first,
                                          std::uint64_t& done) {
  if (batch.sizes.empty()) return std::nullopt;
  auto diagnostic = set_sizes(batch, before, asks_again, first);
  if (!diagnostic) diagnostic = call_pack(batch, first, done);
  return with_likely_cause(std::move(diagnostic));
}

std::optional<Diagnostic> Callbacks::call_pack(const PackBatch& batch, std::uint64_t first,
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

std::optional<Diagnostic> Callbacks::pack_objects(const PackBatch& batch, PackGuard* guard,
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
    const int code = code_of([&](int* answer) {
      pack_multi_.function(pack_multi_.data, entries_.gid, entries_.lid, static_cast<int>(count),
                           batch.ids.gids, batch.ids.lids, batch.destinations, batch.sizes.data(),
                           const_cast<int*>(offsets), memory, answer);
    });
    if (code < 0)
      return judge(code, "ZOLTAN_PACK_OBJ_MULTI_FN",
                   named_range(batch.ids.gids, first, count, "exports"));
    for (std::size_t k = 0; k < count; ++k)
      if (auto diagnostic = finish(k)) return diagnostic;
    return std::nullopt;
  }
  for (std::size_t k = 0; k < count; ++k) {
    const ZOLTAN_ID_PTR gid = batch.ids.gid(entries_, k);
    clear(k);
    const int code = code_of([&](int* answer) {
      pack_.function(pack_.data, entries_.gid, entries_.lid, gid, batch.ids.lid(entries_, k),
                     batch.destinations[k], batch.sizes[k], memory + offsets[k], answer);
    });
    if (code < 0) return judge(code, "ZOLTAN_PACK_OBJ_FN", named(gid, first + k, "exports"));
    if (auto diagnostic = finish(k)) return diagnostic;
  }
  return std::nullopt;
}

Diagnostic Callbacks::overrun(const PackBatch& batch, std::size_t k, std::uint64_t first) const {
  return {ErrorCode::invalid_argument,
          std::string(pack_multi_.given() ? "ZOLTAN_PACK_OBJ_MULTI_FN" : "ZOLTAN_PACK_OBJ_FN") +
              " wrote outside the " + std::to_string(batch.sizes[k]) +
              " bytes (the size, rounded up to a multiple of 8) of " +
              named(batch.ids.gid(entries_, k), first + k, "exports") +
              "; let the size function return all bytes that are packed."};
}

std::optional<Diagnostic> Callbacks::unpack_many(const UnpackBatch& batch, std::uint64_t first) {
  last_code_ = code_of([&](int* code) {
    unpack_multi_.function(unpack_multi_.data, entries_.gid, static_cast<int>(batch.sizes.size()),
                           batch.gids, batch.sizes.data(), batch.offsets.data(),
                           reinterpret_cast<char*>(batch.memory), code);
  });
  if (last_code_ >= 0) return std::nullopt;
  return judge(last_code_, "ZOLTAN_UNPACK_OBJ_MULTI_FN",
               named_range(batch.gids, first, batch.sizes.size(), "imports"));
}

std::optional<Diagnostic> Callbacks::unpack_one(ZOLTAN_ID_PTR gid, int size, std::byte* memory,
                                                std::uint64_t number) {
  last_code_ = code_of([&](int* code) {
    unpack_.function(unpack_.data, entries_.gid, gid, size, reinterpret_cast<char*>(memory), code);
  });
  if (last_code_ >= 0) return std::nullopt;
  return judge(last_code_, "ZOLTAN_UNPACK_OBJ_FN", named(gid, number, "imports"));
}

std::optional<Diagnostic> Callbacks::free_one(const ObjectIds& ids, std::uint64_t number) {
  if (!free_.given()) return std::nullopt;
  const ZOLTAN_ID_PTR gid = ids.gid(entries_, number);
  const int code = code_of([&](int* answer) {
    free_.function(free_.data, entries_.gid, entries_.lid, gid, ids.lid(entries_, number), answer);
  });
  if (code >= 0) return std::nullopt;
  return with_likely_cause(judge(code, "VALET_FREE_OBJ_FN", named(gid, number, "exports")));
}

std::optional<Diagnostic> Callbacks::memory(std::uint64_t step, std::uint64_t& answer) {
  const int code = code_of([&](int* ours) { answer = memory_.function(memory_.data, ours); });
  if (code >= 0) return std::nullopt;
  return judge(code, "VALET_MEMORY_FN", "step " + std::to_string(step));
}

std::optional<Diagnostic> Callbacks::count(std::uint64_t& objects) {
  if (!has_count()) return std::nullopt;
  int count = 0;
  const int code = code_of([&](int* answer) { count = count_.function(count_.data, answer); });
  if (code < 0) return judge(code, "ZOLTAN_NUM_OBJ_FN", {});
  objects = static_cast<std::uint64_t>(std::max(count, 0));
  return std::nullopt;
}

std::optional<Diagnostic> Callbacks::list_objects(const ObjectIds& ids, float* weights) {
  const int code = code_of([&](int* answer) {
    list_.function(list_.data, entries_.gid, entries_.lid, ids.gids, ids.lids, object_weights_,
                   weights, answer);
  });
  if (code >= 0) return std::nullopt;
  return judge(code, "ZOLTAN_OBJ_LIST_FN", {});
}

}  // namespace valet::zoltan

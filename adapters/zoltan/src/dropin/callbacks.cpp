// SPDX-License-Identifier: BSD-3-Clause
#include "callbacks.hpp"

#include "batches.hpp"

#include <algorithm>

namespace valet::zoltan {

template <class Function>
void Callbacks::read(Zoltan_Struct* zoltan, ZOLTAN_FN_TYPE type, Registered<Function>& into) {
  ZOLTAN_VOID_FN* function = nullptr;
  if (Zoltan_Get_Fn(zoltan, type, &function, &into.data) < 0) return;
  into.function = reinterpret_cast<Function*>(function);
}

Callbacks::Callbacks(Zoltan_Struct* zoltan) {
  read(zoltan, ZOLTAN_OBJ_SIZE_FN_TYPE, size_);
  read(zoltan, ZOLTAN_OBJ_SIZE_MULTI_FN_TYPE, size_multi_);
  read(zoltan, ZOLTAN_PACK_OBJ_FN_TYPE, pack_);
  read(zoltan, ZOLTAN_PACK_OBJ_MULTI_FN_TYPE, pack_multi_);
  read(zoltan, ZOLTAN_UNPACK_OBJ_FN_TYPE, unpack_);
  read(zoltan, ZOLTAN_UNPACK_OBJ_MULTI_FN_TYPE, unpack_multi_);
  read(zoltan, ZOLTAN_PRE_MIGRATE_PP_FN_TYPE, pre_pp_);
  read(zoltan, ZOLTAN_PRE_MIGRATE_FN_TYPE, pre_);
  read(zoltan, ZOLTAN_MID_MIGRATE_PP_FN_TYPE, mid_pp_);
  read(zoltan, ZOLTAN_MID_MIGRATE_FN_TYPE, mid_);
  read(zoltan, ZOLTAN_POST_MIGRATE_PP_FN_TYPE, post_pp_);
  read(zoltan, ZOLTAN_POST_MIGRATE_FN_TYPE, post_);
}

std::optional<Diagnostic> Callbacks::missing() const {
  const char* what = nullptr;
  if (!size_.given() && !size_multi_.given())
    what = "ZOLTAN_OBJ_SIZE_FN or ZOLTAN_OBJ_SIZE_MULTI_FN";
  else if (!pack_.given() && !pack_multi_.given())
    what = "ZOLTAN_PACK_OBJ_FN or ZOLTAN_PACK_OBJ_MULTI_FN";
  else if (!unpack_.given() && !unpack_multi_.given())
    what = "ZOLTAN_UNPACK_OBJ_FN or ZOLTAN_UNPACK_OBJ_MULTI_FN";
  if (what == nullptr) return std::nullopt;
  return Diagnostic{ErrorCode::invalid_argument,
                    std::string("Must register a ") + what + " function to migrate."};
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

std::optional<Diagnostic> Callbacks::judge(int code, const char* function,
                                           const std::string& object) {
  last_code_ = code;
  if (code >= 0) return std::nullopt;
  return Diagnostic{code == ZOLTAN_MEMERR ? ErrorCode::out_of_memory : ErrorCode::invalid_argument,
                    std::string("Error returned from ") + function +
                        (object.empty() ? " function." : " function for " + object + ".")};
}

template <class WithParts, class Plain>
std::optional<Diagnostic> Callbacks::call_stage(WithParts& with_parts, Plain& plain,
                                                const char* stage, const MigrationList& imports,
                                                const MigrationList& exports) {
  const std::string name = std::string("ZOLTAN_") + stage + "_MIGRATE";
  if (with_parts.given()) {
    int code = ZOLTAN_OK;
    with_parts.function(with_parts.data, entries_.gid, entries_.lid, imports.count,
                        imports.ids.gids, imports.ids.lids, imports.procs, imports.parts,
                        exports.count, exports.ids.gids, exports.ids.lids, exports.procs,
                        exports.parts, &code);
    if (auto diagnostic = judge(code, (name + "_PP_FN").c_str(), {})) return diagnostic;
  }
  if (!plain.given()) return std::nullopt;
  int code = ZOLTAN_OK;
  plain.function(plain.data, entries_.gid, entries_.lid, imports.count, imports.ids.gids,
                 imports.ids.lids, imports.procs, exports.count, exports.ids.gids, exports.ids.lids,
                 exports.procs, &code);
  return judge(code, (name + "_FN").c_str(), {});
}

std::optional<Diagnostic> Callbacks::pre(const MigrationList& imports,
                                         const MigrationList& exports) {
  return call_stage(pre_pp_, pre_, "PRE", imports, exports);
}
std::optional<Diagnostic> Callbacks::mid(const MigrationList& imports,
                                         const MigrationList& exports) {
  last_code_ = ZOLTAN_OK;  // what came before the move does not count any more
  return call_stage(mid_pp_, mid_, "MID", imports, exports);
}
std::optional<Diagnostic> Callbacks::post(const MigrationList& imports,
                                          const MigrationList& exports) {
  return call_stage(post_pp_, post_, "POST", imports, exports);
}

std::optional<Diagnostic> Callbacks::sizes(const ObjectIds& ids, std::uint64_t first,
                                           std::span<int> sizes) {
  if (sizes.empty()) return std::nullopt;
  int code = ZOLTAN_OK;
  if (size_multi_.given()) {
    size_multi_.function(size_multi_.data, entries_.gid, entries_.lid,
                         static_cast<int>(sizes.size()), ids.gids, ids.lids, sizes.data(), &code);
    if (auto diagnostic = judge(code, "ZOLTAN_OBJ_SIZE_MULTI_FN",
                                named_range(ids.gids, first, sizes.size(), "exports")))
      return diagnostic;
  }
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const ZOLTAN_ID_PTR gid = ids.gid(entries_, k);
    if (!size_multi_.given()) {
      sizes[k] =
          size_.function(size_.data, entries_.gid, entries_.lid, gid, ids.lid(entries_, k), &code);
      if (code < 0) return judge(code, "ZOLTAN_OBJ_SIZE_FN", named(gid, first + k, "exports"));
    }
    if (sizes[k] < 0 || sizes[k] > largest_size)
      return Diagnostic{ErrorCode::invalid_argument,
                        "a size of " + std::to_string(sizes[k]) + " bytes for " +
                            named(gid, first + k, "exports") + "; sizes are from 0 to " +
                            std::to_string(largest_size)};
    sizes[k] = rounded_size(sizes[k]);
  }
  last_code_ = code;
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
  const std::size_t count = batch.sizes.size();
  if (count == 0) return std::nullopt;
  if (auto diagnostic = set_sizes(batch, before, asks_again, first)) return diagnostic;
  int code = ZOLTAN_OK;
  auto* const memory = reinterpret_cast<char*>(batch.memory);
  // What an application does not write arrives as zeros, as in stock Zoltan.
  const auto clear = [&](std::size_t k) {
    std::fill_n(memory + batch.offsets[k], batch.sizes[k], char{0});
  };
  if (pack_multi_.given()) {
    for (std::size_t k = 0; k < count; ++k) clear(k);
    pack_multi_.function(pack_multi_.data, entries_.gid, entries_.lid, static_cast<int>(count),
                         batch.ids.gids, batch.ids.lids, batch.destinations, batch.sizes.data(),
                         const_cast<int*>(batch.offsets.data()), memory, &code);
    if (code < 0)
      return judge(code, "ZOLTAN_PACK_OBJ_MULTI_FN",
                   named_range(batch.ids.gids, first, count, "exports"));
    done += count;
    return std::nullopt;
  }
  for (std::size_t k = 0; k < count; ++k) {
    const ZOLTAN_ID_PTR gid = batch.ids.gid(entries_, k);
    clear(k);
    pack_.function(pack_.data, entries_.gid, entries_.lid, gid, batch.ids.lid(entries_, k),
                   batch.destinations[k], batch.sizes[k], memory + batch.offsets[k], &code);
    if (code < 0) return judge(code, "ZOLTAN_PACK_OBJ_FN", named(gid, first + k, "exports"));
    ++done;
  }
  return std::nullopt;
}

std::optional<Diagnostic> Callbacks::unpack_many(const UnpackBatch& batch, std::uint64_t first) {
  int code = ZOLTAN_OK;
  unpack_multi_.function(unpack_multi_.data, entries_.gid, static_cast<int>(batch.sizes.size()),
                         batch.gids, batch.sizes.data(), batch.offsets.data(),
                         reinterpret_cast<char*>(batch.memory), &code);
  last_code_ = code;
  if (code >= 0) return std::nullopt;
  return judge(code, "ZOLTAN_UNPACK_OBJ_MULTI_FN",
               named_range(batch.gids, first, batch.sizes.size(), "imports"));
}

std::optional<Diagnostic> Callbacks::unpack_one(ZOLTAN_ID_PTR gid, int size, std::byte* memory,
                                                std::uint64_t number) {
  int code = ZOLTAN_OK;
  unpack_.function(unpack_.data, entries_.gid, gid, size, reinterpret_cast<char*>(memory), &code);
  last_code_ = code;
  if (code >= 0) return std::nullopt;
  return judge(code, "ZOLTAN_UNPACK_OBJ_FN", named(gid, number, "imports"));
}

}  // namespace valet::zoltan

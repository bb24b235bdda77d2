// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The callbacks before, in and after a migration, which hide which of the forms with and without
/// parts the application has registered. Local.

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "handle/handle_state.hpp"
#include "handle/object_ids.hpp"
#include <valet/error.hpp>

#include <zoltan.h>

#include <exception>
#include <new>
#include <optional>
#include <string>

namespace valet::zoltan {

/// A callback that is registered with Zoltan.
template <class Function, ZOLTAN_FN_TYPE type>
struct OfZoltan : Registered<Function> {
  void read(Zoltan_Struct* zoltan) {
    const Registered<ZOLTAN_VOID_FN> found = registered(zoltan, type);
    *this = {{reinterpret_cast<Function*>(found.function), found.data}};
  }
};

class StageCallbacks {
 public:
  explicit StageCallbacks(Zoltan_Struct* zoltan) : zoltan_(zoltan) { read_stages(); }
  StageCallbacks(const StageCallbacks&) = delete;
  StageCallbacks& operator=(const StageCallbacks&) = delete;
  virtual ~StageCallbacks() = default;

  void set_entries(EntryCounts entries) { entries_ = entries; }
  [[nodiscard]] const EntryCounts& entries() const { return entries_; }

  [[nodiscard]] bool has_pre() const { return pre_pp_.given() || pre_.given(); }
  [[nodiscard]] bool has_mid() const { return mid_pp_.given() || mid_.given(); }
  [[nodiscard]] bool has_post() const { return post_pp_.given() || post_.given(); }

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

  /// The warning, if any, that the last of the callbacks after the move came back with.
  [[nodiscard]] int last_code() const { return last_code_; }

 protected:
  /// Reads again what is registered, after a callback that may have changed it.
  virtual void read_again() { read_stages(); }
  void read_stages() {
    for_all([this](auto& callback) { callback.read(zoltan_); }, pre_pp_, pre_, mid_pp_, mid_,
            post_pp_, post_);
  }
  template <class Action, class... Callbacks>
  static void for_all(Action&& action, Callbacks&... callbacks) {
    (action(callbacks), ...);
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

  Zoltan_Struct* zoltan_;
  EntryCounts entries_;
  int last_code_ = ZOLTAN_OK;
  bool mid_ran_ = false;

 private:
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

  template <class WithParts, class Plain>
  std::optional<Diagnostic> call_stage(WithParts& with_parts, Plain& plain, const char* stage,
                                       const MigrationList& imports, const MigrationList& exports) {
    const std::string name = std::string("ZOLTAN_") + stage + "_MIGRATE";
    if (with_parts.given()) {
      last_code_ = call(with_parts, entries_.gid, entries_.lid, imports.count, imports.ids.gids,
                        imports.ids.lids, imports.procs, imports.parts, exports.count,
                        exports.ids.gids, exports.ids.lids, exports.procs, exports.parts);
      read_again();
      if (last_code_ < 0) return failure(last_code_, name + "_PP_FN");
    }
    if (!plain.given()) return std::nullopt;
    last_code_ =
        call(plain, entries_.gid, entries_.lid, imports.count, imports.ids.gids, imports.ids.lids,
             imports.procs, exports.count, exports.ids.gids, exports.ids.lids, exports.procs);
    read_again();
    return judge(last_code_, (name + "_FN").c_str(), no_object);
  }

  std::string thrown_;  ///< by the last callback, if it threw
  OfZoltan<ZOLTAN_PRE_MIGRATE_PP_FN, ZOLTAN_PRE_MIGRATE_PP_FN_TYPE> pre_pp_;
  OfZoltan<ZOLTAN_PRE_MIGRATE_FN, ZOLTAN_PRE_MIGRATE_FN_TYPE> pre_;
  OfZoltan<ZOLTAN_MID_MIGRATE_PP_FN, ZOLTAN_MID_MIGRATE_PP_FN_TYPE> mid_pp_;
  OfZoltan<ZOLTAN_MID_MIGRATE_FN, ZOLTAN_MID_MIGRATE_FN_TYPE> mid_;
  OfZoltan<ZOLTAN_POST_MIGRATE_PP_FN, ZOLTAN_POST_MIGRATE_PP_FN_TYPE> post_pp_;
  OfZoltan<ZOLTAN_POST_MIGRATE_FN, ZOLTAN_POST_MIGRATE_FN_TYPE> post_;
};

}  // namespace valet::zoltan

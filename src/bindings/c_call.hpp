// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What the functions of valet.h have in common: exceptions become codes, what a rank finds wrong
/// with its arguments becomes known to all, and structs are translated.

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include <valet/alltoall.hpp>
#include <valet/block_storage.hpp>
#include <valet/detail/host_fields.hpp>
#include <valet/error.hpp>
#include <valet/export.hpp>
#include <valet/object_layout.hpp>
#include <valet/options.hpp>
#include <valet/plan.hpp>
#include <valet/ragged_storage.hpp>
#include <valet/redistribute.hpp>
#include <valet/report.hpp>
#include <valet/valet.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

struct Valet_Storage {
  std::vector<valet::Field> fields;
  std::optional<valet::BlockStorage> custom;  ///< in place of fields
  std::optional<valet::Diagnostic> refused;
  std::function<valet::BlockStorage(std::uint64_t slots)> grow;
};

struct Valet_Plan {
  valet::Plan plan;
};

struct Valet_Execution {
  valet::Execution execution;
};

struct Valet_Ragged_storage {
  std::vector<valet::RaggedField> fields;
  std::vector<valet::Field> columns;
  std::function<valet::RaggedStorage(const valet::RaggedRoom& room)> grow;
  std::optional<valet::Diagnostic> refused;
};

namespace valet::c {

/// What an exception says of this rank. Called while it is handled.
VALET_EXPORT Diagnostic diagnostic_in_flight();
/// Keeps the text of the exception that is handled for Valet_Error_message(). @return Its code.
VALET_EXPORT int keep_error() noexcept;
const char* last_error() noexcept;

/// Runs `action`; turns what it throws into a code and keeps the text. In a collective call nothing
/// may end on one rank alone, so the few bytes that a translation takes are held back, too.
template <class Action>
int guarded(Action&& action) noexcept {
  const detail::MemoryReserve reserve;
  try {
    action();
    return VALET_SUCCESS;
  } catch (...) {
    return keep_error();
  }
}

/// What `convert` makes of this rank's arguments; it is given the number of ranks. Either all ranks
/// get theirs, or all throw what one of them finds wrong. Collective; one reduction.
/// @param join  join(agreement) adds what must be the same on all ranks, if anything.
template <class Convert>
auto agreed(MPI_Comm communicator, Convert&& convert,
            const std::function<void(mpi::Agreement&)>& join = {}) {
  const mpi::Channel channel = mpi::Channel::open_for_call(communicator);
  std::optional<decltype(convert(1))> arguments;
  std::optional<Diagnostic> diagnostic;
  try {
    arguments.emplace(convert(channel.size()));
  } catch (...) {
    diagnostic = diagnostic_in_flight();
  }
  mpi::Agreement agreement;
  if (join) join(agreement);
  agreement.run(channel, diagnostic);
  return *std::move(arguments);
}

using valet::refuse;

/// @throws Error invalid_argument "`what` is a null pointer; `remedy`". Local.
VALET_EXPORT void require_pointer(const void* pointer, const char* what, const char* remedy);

/// @throws Error invalid_argument where an execution has no place. Local.
inline void require_place(Valet_Execution** execution) {
  require_pointer(execution, "the place for the execution",
                  "give the address of a Valet_Execution*");
}

/// @throws Error with what was found, if anything. Local.
inline void require_nothing_wrong(const std::optional<Diagnostic>& found) {
  if (found) throw Error(found->code, found->text);
}

/// What is wrong with a number that was negative before C or Fortran made it unsigned. Local.
/// @param name  What the caller calls it, in parts.
template <class... Name>
std::optional<Diagnostic> negative(std::uint64_t number, const Name&... name) {
  const auto given = static_cast<std::int64_t>(number);
  if (given >= 0) return std::nullopt;
  return invalid(name..., " is ", given, "; give 0 or more");
}
/// @throws Error invalid_argument for such a number. Local.
template <class... Name>
void require_number(std::uint64_t number, const Name&... name) {
  require_nothing_wrong(negative(number, name...));
}
/// Has all ranks refuse a storage with such a number when it is used. Local.
template <class Handle, class... Name>
void refuse_negative(Handle& storage, std::uint64_t number, const Name&... name) {
  if (!storage.refused) storage.refused = negative(number, name...);
}

/// The destinations of `count` blocks. @throws Error invalid_argument where there are none. Local.
template <class Destination>
std::span<Destination> to_map(Destination* map, std::uint64_t count) {
  require_number(count, "count");
  if (count > 0) require_pointer(map, "the map", "give a destination for each block");
  return {map, static_cast<std::size_t>(count)};
}

/// What `number` says of a handle; 0 where it throws, with a text but no place for a code.
template <class Number>
std::uint64_t number_of(Number&& number) {
  std::uint64_t result = 0;
  static_cast<void>(guarded([&] { result = static_cast<std::uint64_t>(number()); }));
  return result;
}

/// A struct of the caller, who may have been compiled with an older header: what his does not have
/// is as in `defaults`. @throws Error invalid_argument for a size that no header gives it. Local.
template <class Struct>
Struct complete(const char* name, const Struct& given, const Struct& defaults) {
  const std::size_t bytes = given.struct_size;
  if (bytes <= sizeof bytes || bytes > sizeof(Struct) || bytes % alignof(Struct) != 0)
    refuse("struct_size of ", name, " is ", bytes, ", this library knows ", sizeof(Struct),
           " bytes; start from ", name, "_default()");
  Struct whole = defaults;
  std::memcpy(&whole, &given, bytes);
  return whole;
}
/// Writes those of the defaults that a caller with a struct of `bytes` knows, zeros behind, and
/// `bytes`. Local.
template <class Struct>
void initialise(Struct* target, std::size_t bytes, Struct defaults) {
  if (target == nullptr || bytes < sizeof bytes) return;
  defaults.struct_size = bytes;
  std::memset(target, 0, bytes);
  std::memcpy(target, &defaults, bytes < sizeof(Struct) ? bytes : sizeof(Struct));
}

/// A number of blocks, or a mask of as many slots. Local.
inline Occupied to_occupied(std::uint64_t count, const std::uint8_t* mask) {
  if (mask == nullptr) return {count};
  return Occupied::masked({mask, static_cast<std::size_t>(count)});
}
/// A storage that all ranks refuse together.
inline BlockStorage refused_storage(Diagnostic why) {
  return BlockStorage(std::make_shared<HostFields>(std::move(why)));
}
inline RaggedStorage refused_ragged_storage(Diagnostic why) {
  RaggedField refused;
  refused.prepare = [found = std::move(why)] { return std::optional(found); };
  return {refused};
}
/// A null pointer is a storage without fields, which all ranks refuse together. Local.
inline BlockStorage to_storage(const Valet_Storage* storage) {
  if (storage == nullptr) return BlockStorage(std::span<const Field>());
  const BlockStorage result = storage->refused ? refused_storage(*storage->refused)
                              : storage->custom
                                  ? *storage->custom
                                  : BlockStorage(std::span<const Field>(storage->fields));
  return storage->grow ? result.growing(storage->grow) : result;
}

constexpr const char* make_plan =
    "make one by Valet_Plan_to_ranks(), Valet_Plan_to_slots() or Valet_Plan_to_layout()";
constexpr const char* make_ragged_plan = "make one by Valet_Ragged_plan_to_ranks()";
/// @throws Error where there is no plan. Local.
template <class Handle>
auto& plan_of(Handle* handle, const char* remedy = make_plan) {
  require_pointer(handle, "the plan", remedy);
  return handle->plan;
}

constexpr const char* make_ragged_storage = "make one by Valet_Ragged_storage_create()";
/// @throws Error invalid_argument for a null pointer. Local.
inline RaggedStorage to_storage(const Valet_Ragged_storage* storage) {
  require_pointer(storage, "the storage", make_ragged_storage);
  if (storage->refused) return refused_ragged_storage(*storage->refused);
  const RaggedStorage result(storage->fields, storage->columns);
  return storage->grow ? result.growing(storage->grow) : result;
}

/// What a function of the application returned, as C++ reports it.
/// @throws std::runtime_error that `function` returned another code than 0.
inline void require_success(int code, const char* function = "it") {
  if (code != 0) throw std::runtime_error(joined(function, " returned ", code));
}
/// What a function of the application has made. @throws std::runtime_error where that is nothing.
template <class Storage>
auto made_storage(const Storage* made) {
  if (made == nullptr) throw std::runtime_error("it returned a null pointer");
  return to_storage(made);
}

/// The defaults of C++.
Valet_Options default_options();
/// All members of the caller's options, of which an older valet.h may have had fewer.
/// @param options  NULL for the defaults. @throws Error invalid_argument (struct_size). Local.
VALET_EXPORT Valet_Options complete_options(const Valet_Options* options);
/// The same in C++. @throws Error invalid_argument (as plan::check_options()). Local.
VALET_EXPORT Options to_options(const Valet_Options& options);

/// Calls a function of the application. Empty for a null pointer.
std::function<void(const Progress&)> to_progress(Valet_Progress_fn* function, void* data);

/// All that the options of C say, in C++.
struct ChosenOptions {
  Options options;
  AlltoallMethod alltoall_method = AlltoallMethod::automatic;
};
/// @param options  NULL for the defaults. @throws Error invalid_argument. Local.
ChosenOptions to_chosen_options(const Valet_Options* options);
/// What the options of a call on elements have in common with those on blocks.
template <class ElementOptions>
ElementOptions to_element_options(const Options& chosen) {
  ElementOptions options;
  options.budget_bytes = chosen.budget_bytes;
  if constexpr (requires { options.verify; }) options.verify = chosen.verify;
  options.share_memory = chosen.share_memory;
  options.keep_memory = chosen.keep_memory;
  options.trace = chosen.trace;
  options.progress = chosen.progress;
  options.progress_bar = chosen.progress_bar;
  return options;
}
/// Those of an all-to-all but for any_order.
inline AlltoallOptions to_alltoall_options(const ChosenOptions& chosen) {
  auto options = to_element_options<AlltoallOptions>(chosen.options);
  options.method = chosen.alltoall_method;
  return options;
}
/// Adds to the agreement on arguments what must be the same on all ranks.
void agree_on_options(mpi::Agreement& agreement, const ChosenOptions& chosen);

/// As agreed() above for a call with options, which are all checked and agreed on, used or not.
/// @param convert  convert(ranks, chosen).
template <class Convert>
auto agreed(MPI_Comm communicator, const Valet_Options* options, Convert&& convert) {
  ChosenOptions chosen;
  return agreed(
      communicator,
      [&](int ranks) {
        chosen = to_chosen_options(options);
        return convert(ranks, chosen);
      },
      [&](mpi::Agreement& agreement) { agree_on_options(agreement, chosen); });
}

/// @throws Error invalid_argument: none, or no block-cyclic layout. Local.
GridLayout to_layout(const Valet_Layout* layout);
/// A part by that layout; none for a null pointer. @throws Error invalid_argument (order). Local.
TargetArray to_array(const Valet_Array* array, const Valet_Layout& layout);
/// @throws Error invalid_argument: a tiling that is none, or has a list of ranks. Local.
VALET_EXPORT ObjectLayout to_object_layout(const Valet_Object_layout& layout);

/// @throws Error invalid_argument (struct_size) unless `report` can be written. Local.
VALET_EXPORT void require_report(const Valet_Report* report);
/// @throws Error invalid_argument (struct_size). Local.
Report to_report(const Valet_Report& report);
/// @param report  NULL, or gets what `done` says; require_report() has accepted it.
VALET_EXPORT void write_report(const Report& done, Valet_Report* report);

}  // namespace valet::c

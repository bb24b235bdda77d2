// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What the functions of valet.h have in common: exceptions become codes, what a rank finds wrong
/// with its arguments becomes known to all, and structs are translated.

#include "base/memory_reserve.hpp"
#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include <valet/options.hpp>
#include <valet/report.hpp>
#include <valet/storage_backend.hpp>
#include <valet/valet.h>

#include <optional>
#include <utility>

namespace valet::c {

/// What an exception says of this rank. Called while it is handled.
Diagnostic diagnostic_in_flight();
/// Keeps the text of the exception that is handled for Valet_Error_message(). @return Its code.
int keep_error() noexcept;
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
template <class Convert>
auto agreed(MPI_Comm communicator, Convert&& convert) {
  const mpi::Channel channel = mpi::Channel::open_for_call(communicator);
  std::optional<decltype(convert(1))> arguments;
  std::optional<Diagnostic> diagnostic;
  try {
    arguments.emplace(convert(channel.size()));
  } catch (...) {
    diagnostic = diagnostic_in_flight();
  }
  mpi::agree(channel, diagnostic);
  return *std::move(arguments);
}

/// @throws Error invalid_argument "`what` is a null pointer; `remedy`". Local.
void require_pointer(const void* pointer, const char* what, const char* remedy);

/// The defaults of C++.
Valet_Options default_options();
/// All members of the caller's options, of which an older valet.h may have had fewer.
/// @param options  NULL for the defaults. @throws Error invalid_argument (struct_size). Local.
Valet_Options complete_options(const Valet_Options* options);
/// The same in C++. @throws Error invalid_argument (a choice that there is not). Local.
Options to_options(const Valet_Options& options);
/// @throws Error invalid_argument (struct_size) unless `report` can be written. Local.
void require_report(const Valet_Report* report);
/// @throws Error invalid_argument (struct_size). Local.
Report to_report(const Valet_Report& report);
/// @param report  NULL, or gets what `done` says; require_report() has accepted it.
void write_report(const Report& done, Valet_Report* report);

}  // namespace valet::c

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/channel.hpp"
#include "mpi/hooks.hpp"
#include "observe/progress.hpp"
#include "observe/trace.hpp"
#include <valet/storage_backend.hpp>

#include <cstdint>

namespace valet {
struct Report;
}  // namespace valet

namespace valet::observe {

/// One line about what has finished, where somebody listens. Without memory for it there is none:
/// the data has moved, and the other ranks have succeeded. Local.
void log_finished(int rank, const Report& report) noexcept;

/// Watches what happens on one channel of one rank: who waits in MPI and for how long, and, where
/// they are wanted, the trace and the progress. Where nobody looks, a hook costs the test of a
/// pointer; only blocking calls are always timed. Hooks are local.
struct Observer final : mpi::Hooks {
  Trace* trace = nullptr;
  ProgressMeter* progress = nullptr;
  double waiting_seconds = 0;  ///< blocked in MPI since the observer was made

  void waited(double start) override {
    const double end = mpi::now();
    waiting_seconds += end - start;
    if (trace != nullptr) trace->span(TraceKind::wait, "wait", start, end);
  }
  /// Data was posted as a request of mpi::Requests, which says when it has completed.
  void sends(const void* request, int rank, std::uint64_t bytes) const {
    if (trace != nullptr)
      trace->message_begins(TraceKind::send, request, {.peer = rank, .bytes = bytes});
  }
  void receives(const void* request, int rank, std::uint64_t bytes) const {
    if (trace != nullptr)
      trace->message_begins(TraceKind::receive, request, {.peer = rank, .bytes = bytes});
  }
  /// The same for a receive whose sender has just been given a credit.
  void credits(const void* request, int rank, std::uint64_t bytes) const {
    if (trace != nullptr)
      trace->message_begins(TraceKind::credited, request, {.peer = rank, .bytes = bytes});
  }
  void completed(const void* request, const MPI_Status& status) const override {
    if (trace != nullptr) trace->message_ends(request, mpi::received_bytes(status));
  }
  /// So many blocks have left this rank, or arrived.
  void moved(std::uint64_t blocks) const {
    if (progress != nullptr) progress->advance(blocks);
  }
};

/// A stage of a migration until the end of a scope, left by an exception or not: for the trace, and
/// for the profiler that the storage may know of (StorageBackend::begin_stage()).
class Stage {
 public:
  Stage(StorageBackend& backend, Trace* trace, const char* name) noexcept
      : backend_(backend), span_(trace, TraceKind::stage, name) {
    backend_.begin_stage(name);
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage() { backend_.end_stage(); }

 private:
  StorageBackend& backend_;
  TraceSpan span_;
};

/// The observer of a channel, or nullptr.
[[nodiscard]] inline Observer* observer_of(const mpi::Channel& channel) {
  return static_cast<Observer*>(channel.hooks());
}

}  // namespace valet::observe

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "observe/trace.hpp"
#include <valet/storage_backend.hpp>

namespace valet::observe {

/// A stage of a migration until the end of a scope, left by an exception or not: for the trace, and
/// for the profiler that the storage may know of (StorageBackend::begin_stage()).
class Stage {
 public:
  Stage(StorageBackend& backend, Trace* trace, const char* name)
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

}  // namespace valet::observe

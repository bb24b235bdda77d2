// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/report/trace.hpp>
#include <valet/storage/block_mover.hpp>

namespace valet {

/// A stage of a migration until the end of a scope, left by an exception or not: for the trace, and
/// for the profiler that the storage may know of (BlockMover::begin_stage()).
class Stage {
 public:
  Stage(BlockMover& mover, Trace* trace, const char* name)
      : mover_(mover), span_(trace, TraceKind::stage, name) {
    mover_.begin_stage(name);
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage() { mover_.end_stage(); }

 private:
  BlockMover& mover_;
  TraceSpan span_;
};

}  // namespace valet

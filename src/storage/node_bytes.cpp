// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "base/sizes.hpp"
#include "storage/node_segment.hpp"
#include <valet/detail/agree.hpp>
#include <valet/detail/node_bytes.hpp>
#include <valet/log.hpp>

#include <atomic>
#include <optional>

namespace valet::detail {
namespace {

Diagnostic refusal(const char* what, std::size_t count, std::size_t entry_bytes) {
  return diagnose(ErrorCode::out_of_memory, "the system refused ", what, count, " entries of ",
                  entry_bytes,
                  " bytes; the memory of the machine, ulimit -v and ulimit -d limit it");
}

/// Once only: an application has many arrays.
void warn_once(int rank, std::size_t bytes) {
  static std::atomic<bool> warned = false;
  if (warned.exchange(true)) return;
  log(LogLevel::warning, rank,
      joined("rank ", rank,
             " has no memory to share with the ranks of its node, so a node array is ordinary "
             "memory, and its blocks go as messages, which is slower; let it have files in memory "
             "(memfd_create) of ",
             bytes, " bytes, which ulimit -f and ulimit -n limit"));
}

}  // namespace

NodeBytes::NodeBytes(MPI_Comm communicator, std::size_t count, std::size_t entry_bytes) {
  agree(communicator, [&](int rank) -> std::optional<Diagnostic> {
    const std::size_t bytes = bounded_product(count, entry_bytes);
    segment_ = storage::NodeSegment::create(bytes);
    if (segment_ == nullptr) return refusal("a node array of ", count, entry_bytes);
    if (!segment_->is_shared()) warn_once(rank, bytes);
    return std::nullopt;
  });
}

void NodeBytes::resize(std::size_t count, std::size_t entry_bytes) const {
  if (segment_ == nullptr)
    refuse(
        "a node array without memory, which was moved from or never made, cannot be resized; use "
        "the one that it was moved to, or node_array()");
  const std::size_t bytes = bounded_product(count, entry_bytes);
  if (segment_->resize(bytes)) return;
  if (bytes <= segment_->room())
    throw Error(ErrorCode::out_of_memory,
                refusal("to resize a node array to ", count, entry_bytes).text +
                    (segment_->is_shared() ? ", and ulimit -f" : ""));
  throw Error(ErrorCode::out_of_memory,
              joined("a node array can grow to ", segment_->room(), " bytes, not to ", count,
                     " entries of ", entry_bytes,
                     " bytes: so many addresses are reserved for it, which the memory of the "
                     "machine and ulimit -v limit; make a new one"));
}

void* NodeBytes::data() const noexcept { return segment_ ? segment_->data() : nullptr; }

std::size_t NodeBytes::size() const noexcept { return segment_ ? segment_->size() : 0; }

bool NodeBytes::is_shared() const noexcept { return segment_ && segment_->is_shared(); }

}  // namespace valet::detail

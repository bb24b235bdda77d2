// SPDX-License-Identifier: BSD-3-Clause
#include "storage/call_scratch.hpp"

#include "base/sizes.hpp"
#include "storage/pages.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace valet::storage {

struct CallScratch::Memory {
  explicit Memory(std::size_t size) : data(allocate_pages(size)), bytes(size) {}

  std::shared_ptr<std::byte> data;
  std::size_t bytes;
};

CallScratch::CallScratch(const mpi::Channel& channel, Ledger& ledger, std::size_t bytes,
                         std::size_t most, bool keep)
    : channel_(&channel),
      ledger_(&ledger),
      memory_(std::static_pointer_cast<Memory>(channel.take_scratch())),
      keep_(keep) {
  if (memory_ && (memory_->bytes < bytes || memory_->bytes > std::max(bytes, most)))
    memory_.reset();
  if (!memory_ && bytes > 0) memory_ = std::make_shared<Memory>(bytes);
  if (memory_) ledger_->add(memory_->bytes);
}

CallScratch::~CallScratch() {
  if (!memory_) return;
  ledger_->subtract(memory_->bytes);
  if (keep_) channel_->keep_scratch(std::move(memory_));
}

std::span<std::byte> CallScratch::bytes() const {
  return memory_ ? std::span(memory_->data.get(), memory_->bytes) : std::span<std::byte>();
}

std::span<std::byte> CallScratch::bytes_for(const std::byte* data, std::size_t bytes) const {
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(data) % detail::cache_line_bytes;
  const std::span<std::byte> all = this->bytes();
  const bool fits = offset % alignof(std::max_align_t) == 0 && bytes + offset <= all.size();
  return all.subspan(fits ? offset : 0);
}

void CallScratch::leak() noexcept {
  if (memory_) static_cast<void>(new (std::nothrow) std::shared_ptr<Memory>(memory_));
  keep_ = false;
}

void CallScratch::swap(CallScratch& other) noexcept {
  std::swap(channel_, other.channel_);
  std::swap(ledger_, other.ledger_);
  std::swap(memory_, other.memory_);
  std::swap(keep_, other.keep_);
}

}  // namespace valet::storage

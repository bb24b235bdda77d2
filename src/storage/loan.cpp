// SPDX-License-Identifier: BSD-3-Clause
#include "storage/loan.hpp"

#include "base/sizes.hpp"
#include "storage/huge_pages.hpp"
#include <valet/detail/host_fields.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace valet::storage {
namespace {

/// With so many bytes more, scratch can have any distance to the blocks.
constexpr std::size_t line = detail::cache_line_bytes;

/// Views are fields, too, but kernels that move them may need memory of their own.
bool takes_any_memory(const StorageBackend& backend) {
  return dynamic_cast<const HostFields*>(&backend) != nullptr && backend.reachable_by_host();
}

}  // namespace

struct Loan::Memory {
  explicit Memory(std::size_t size) : data(allocate_with_huge_pages(size)), bytes(size) {}
  Memory(const StorageBackend& backend, std::size_t size)
      : data(backend.allocate_scratch(size)), bytes(size), is_plain(false) {}

  std::shared_ptr<std::byte> data;
  std::size_t bytes;
  bool is_plain = true;   ///< will do for any fields of the host
  bool was_kept = false;  ///< by the communicator, before this call
};

Loan::Loan(const mpi::Channel& channel, Ledger& ledger, std::size_t limit_bytes, bool keep)
    : channel_(channel),
      ledger_(ledger),
      limit_(limit_bytes),
      keep_(keep),
      most_kept_scratch_(limit_bytes),
      node_(std::make_shared<Node>()) {
  if (!keep) channel.kept().reset();
  look();
  borrow_kept_scratch(0, keep ? most_scratch() : 0);
}

Loan::~Loan() {
  return_scratch();
  ledger_.subtract(counted_node_);
}

void Loan::return_unused() {
  return_scratch();
  kept_.reset();
  count_node();
}

void Loan::return_all() {
  node_ = std::make_shared<Node>();
  return_unused();
}

void Loan::limit(std::size_t bytes) {
  limit_ = bytes;
  look();
  fit_scratch(0, most_scratch());
}

void Loan::free_unused() {
  fit_scratch(0, 0);
  look();
  free_unused_node();
}

/// What is kept may be another plan's meanwhile, or gone.
void Loan::look() {
  kept_ = std::static_pointer_cast<Node>(channel_.kept());
  if (kept_ == node_) kept_.reset();
  if (kept_ && node().bytes() + kept_->memory.bytes() > limit_) free_unused_node();
  count_node();
}

void Loan::free_unused_node() {
  if (!kept_) return;
  channel_.kept().reset();
  kept_.reset();
  count_node();
}

void Loan::count_node() {
  ledger_.subtract(counted_node_);
  counted_node_ = node_->ledger.current_bytes() + (kept_ ? kept_->ledger.current_bytes() : 0);
  ledger_.add(counted_node_);
}

bool Loan::has_met(const NodeWish& wish) {
  look();
  return kept_ && kept_->memory.has_met(wish);
}

std::span<std::byte> Loan::kept_for(const NodeWish& wish) {
  look();
  return kept_ && kept_->memory.serves(wish) ? kept_->memory.own() : std::span<std::byte>();
}

void Loan::join(mpi::Agreement& agreement, const NodeWish* wish) {
  if (wish != nullptr) {
    look();
    serves_ = kept_ && kept_->memory.serves(*wish);
    may_keep_ = channel_.has_kept();
    is_idle_ = wish->allowance == 0 || (wish->destinations.empty() && wish->sources.empty());
  }
  agreement.least(serves_);
  agreement.least(may_keep_);
  agreement.least(is_idle_);
}

void Loan::agree_again(const NodeWish& wish) {
  mpi::Agreement agreement;
  join(agreement, &wish);
  agreement.run(channel_, std::nullopt);
}

void Loan::share(const NodeWish& wish) {
  std::shared_ptr<Node> memory = std::move(kept_);
  count_node();
  // Where only some ranks may keep it, nobody has the memory of two calls.
  if (may_keep_ || (!serves_ && channel_.has_kept())) channel_.kept().reset();
  if (!serves_) {
    const std::size_t most = std::min(wish.allowance, wish.wish) +
                             wish.allowance * wish.destinations.size();  // its own, and others'
    if (!is_idle_) fit_scratch(0, limit_ - std::min(limit_, most));
    memory.reset();  // before there is more
    memory = std::make_shared<Node>();
    memory->memory.connect(channel_, wish, is_idle_);
  }
  if (keep_ && may_keep_) channel_.kept() = memory;
  node_ = std::move(memory);
  count_node();
}

/// What the memory of the node leaves of the limit.
std::size_t Loan::most_scratch() const {
  const std::size_t node_bytes = node().bytes() + (kept_ ? kept_->memory.bytes() : 0);
  return limit_ - std::min(limit_, node_bytes);
}

/// Frees scratch of another size.
void Loan::fit_scratch(std::size_t least, std::size_t most) {
  if (!scratch_ || (scratch_->bytes >= least && scratch_->bytes <= most)) return;
  ledger_.subtract(scratch_->bytes);
  scratch_.reset();
}

/// Unless it has another size: then it is freed.
void Loan::borrow_kept_scratch(std::size_t least, std::size_t most) {
  auto memory = std::static_pointer_cast<Memory>(channel_.take_scratch());
  if (!memory || memory->bytes < least || memory->bytes > most) return;
  memory->was_kept = true;
  borrow_scratch(std::move(memory));
}

void Loan::borrow_scratch(std::shared_ptr<Memory> memory) {
  scratch_ = std::move(memory);
  if (scratch_) ledger_.add(scratch_->bytes);
}

void Loan::take_scratch(std::size_t bytes, const StorageBackend* backend) {
  look();
  if (bytes > most_scratch()) free_unused_node();
  if (backend != nullptr && !takes_any_memory(*backend)) {
    fit_scratch(0, 0);
    borrow_kept_scratch(0, 0);
    return borrow_scratch(std::make_shared<Memory>(*backend, bytes));
  }
  const std::size_t needed = bytes > 0 ? bytes + line : 0;
  const std::size_t most = std::max(needed, most_scratch() + line);
  fit_scratch(needed, most);
  if (!scratch_) borrow_kept_scratch(needed, most);
  if (!scratch_ && needed > 0) borrow_scratch(std::make_shared<Memory>(needed));
}

std::span<std::byte> Loan::scratch() const {
  return scratch_ ? std::span(scratch_->data.get(), scratch_->bytes) : std::span<std::byte>();
}

std::span<std::byte> Loan::scratch_beside(const std::byte* data, std::size_t bytes) const {
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(data) % line;
  const std::span<std::byte> all = scratch();
  const bool fits = offset % alignof(std::max_align_t) == 0 && bytes + offset <= all.size();
  return all.subspan(fits ? offset : 0);
}

void Loan::return_scratch() noexcept {
  if (!scratch_) return;
  ledger_.subtract(scratch_->bytes);
  const bool is_small = scratch_->was_kept || scratch_->bytes <= most_kept_scratch_ + line;
  if (keep_ && scratch_->is_plain && is_small) channel_.keep_scratch(std::move(scratch_));
  scratch_.reset();
}

void Loan::leak_scratch() noexcept {
  if (!scratch_) return;
  static_cast<void>(new (std::nothrow) std::shared_ptr<Memory>(scratch_));
  ledger_.subtract(scratch_->bytes);
  scratch_.reset();
}

}  // namespace valet::storage

// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include <valet/custom_storage.hpp>
#include <valet/detail/first_failure.hpp>
#include <valet/detail/independent_copies.hpp>
#include <valet/storage_backend.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace valet {
namespace {

/// The functions of an application as a storage: lists of slots are cut to pieces of a size that is
/// fixed, and brought to where the functions can read them.
class CustomBackend final : public StorageBackend {
 public:
  /// Never throws for functions that cannot be used: diagnostic() says so.
  CustomBackend(std::uint64_t slots, std::size_t block_bytes, CustomFunctions functions)
      : slots_(slots),
        block_bytes_(block_bytes),
        functions_(std::make_shared<const CustomFunctions>(std::move(functions))),
        diagnostic_(check()) {
    if (!diagnostic_) diagnostic_ = allocate_lists();
  }

  [[nodiscard]] std::uint64_t slots() const override { return slots_; }
  [[nodiscard]] std::size_t block_bytes() const override { return block_bytes_; }
  [[nodiscard]] std::optional<Diagnostic> diagnostic() const override { return diagnostic_; }
  void synchronize() override {
    if (functions_->synchronize) functions_->synchronize();
  }
  void gather(SlotList from, std::byte* packed) override {
    for (std::size_t first = 0; first < from.size(); first += custom_most_slots)
      functions_->pack(
          listed(from.subspan(first, std::min(custom_most_slots, from.size() - first)), 0),
          packed + first * block_bytes_);
  }
  void scatter(const std::byte* packed, SlotList to) override {
    for (std::size_t first = 0; first < to.size(); first += custom_most_slots)
      functions_->unpack(
          packed + first * block_bytes_,
          listed(to.subspan(first, std::min(custom_most_slots, to.size() - first)), 0));
  }
  /// Straight from slot to slot where that takes no more calls than packing and unpacking: chains
  /// of slots are read first and written later.
  void copy(SlotList from, SlotList to, std::span<std::byte> scratch) override {
    constexpr std::size_t half = custom_most_slots / 2;
    const std::size_t most = std::min(scratch.size() / block_bytes_, custom_most_slots);
    for (std::size_t size = 0; !from.empty(); from = from.subspan(size), to = to.subspan(size)) {
      size = functions_->copy ? detail::disjoint_copies(from, to, half) : 0;
      const std::size_t staged = detail::independent_copies(from, to, most);
      if (size > 0 && 2 * size >= staged) {
        functions_->copy(listed(from.first(size), 0), listed(to.first(size), half));
        continue;
      }
      size = staged;
      functions_->pack(listed(from.first(size), 0), scratch.data());
      functions_->unpack(scratch.data(), listed(to.first(size), 0));
    }
  }
  [[nodiscard]] bool reachable_by_mpi() const override { return contiguous_data() != nullptr; }
  [[nodiscard]] bool reachable_by_host() const override { return false; }
  [[nodiscard]] std::byte* contiguous_data() const override {
    return static_cast<std::byte*>(functions_->mpi_data);
  }
  void pieces(std::uint64_t slot, Vector<MemoryPiece>& list) const override {
    list.push_back({contiguous_data() + slot * block_bytes_, block_bytes_});
  }
  [[nodiscard]] std::shared_ptr<std::byte> allocate_scratch(std::size_t bytes) const override {
    if (!functions_->allocate_scratch) return StorageBackend::allocate_scratch(bytes);
    if (bytes == 0) return nullptr;
    void* const memory = functions_->allocate_scratch(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return {static_cast<std::byte*>(memory),
            [functions = functions_](std::byte* scratch) { functions->free_scratch(scratch); }};
  }

 private:
  [[nodiscard]] std::optional<Diagnostic> check() const {
    if (!functions_->pack || !functions_->unpack)
      return invalid("a custom storage has no function that packs or none that unpacks; give both");
    if (bool(functions_->allocate_scratch) != bool(functions_->free_scratch))
      return invalid(
          "a custom storage allocates scratch and does not free it, or the other way round; give "
          "both functions or none");
    if (block_bytes_ == 0)
      return invalid(
          "the blocks of a custom storage have no bytes; give the size of a packed block");
    return std::nullopt;
  }
  [[nodiscard]] std::optional<Diagnostic> allocate_lists() {
    constexpr std::size_t bytes = custom_most_slots * sizeof(std::uint64_t);
    detail::FirstFailure failure;
    try {
      lists_ = allocate_scratch(bytes);
    } catch (const std::bad_alloc&) {
      return diagnose(ErrorCode::out_of_memory, "no memory for ", bytes,
                      " bytes of slots to be listed");
    } catch (...) {
      failure.keep("allocating a list of slots (allocate_scratch)");
    }
    return failure.diagnostic("nothing has moved; fix it and make the storage again");
  }
  /// Slots where the functions can read them, from `offset` in the lists on.
  [[nodiscard]] SlotSpan listed(SlotList slots, std::size_t offset) const {
    auto* const list = reinterpret_cast<std::uint64_t*>(lists_.get()) + offset;
    std::ranges::copy(slots, list);
    return {list, slots.size()};
  }

  std::uint64_t slots_;
  std::size_t block_bytes_;
  std::shared_ptr<const CustomFunctions> functions_;  ///< scratch may outlive this
  std::shared_ptr<std::byte> lists_;                  ///< for custom_most_slots slots
  std::optional<Diagnostic> diagnostic_;
};

}  // namespace

BlockStorage custom_storage(std::uint64_t slots, std::size_t block_bytes,
                            CustomFunctions functions) {
  return BlockStorage(std::make_shared<CustomBackend>(slots, block_bytes, std::move(functions)));
}

}  // namespace valet

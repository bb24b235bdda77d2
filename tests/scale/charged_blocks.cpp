// SPDX-License-Identifier: BSD-3-Clause
#include "charged_blocks.hpp"

#include <valet/mpi.hpp>

#include <cstring>
#include <new>
#include <sys/mman.h>

namespace valet::scale {
namespace {

constexpr std::size_t identity_bytes = sizeof(std::uint64_t);

}  // namespace

void charge_copy(std::uint64_t bytes, double bandwidth) {
  if (bytes > 0) smpi_execute_benched(static_cast<double>(bytes) / bandwidth);
}

ChargedBlocks::ChargedBlocks(std::uint64_t slots, std::size_t block_bytes, double copy_bandwidth)
    : slots_(slots), block_bytes_(block_bytes), copy_bandwidth_(copy_bandwidth) {
  void* const memory = mmap(nullptr, slots * block_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(memory);
}

ChargedBlocks::~ChargedBlocks() { munmap(data_, slots_ * block_bytes_); }

std::uint64_t ChargedBlocks::identity(std::uint64_t slot) const {
  std::uint64_t value = 0;
  std::memcpy(&value, block(slot), identity_bytes);
  return value;
}

void ChargedBlocks::set_identity(std::uint64_t slot, std::uint64_t identity) {
  std::memcpy(block(slot), &identity, identity_bytes);
}

void ChargedBlocks::charge(std::uint64_t blocks) {
  const double start = MPI_Wtime();
  charge_copy(blocks * block_bytes_, copy_bandwidth_);
  copy_seconds_ += MPI_Wtime() - start;
}

void ChargedBlocks::gather(SlotList from, std::byte* packed) {
  from.visit([&](auto slots) {
    for (const auto slot : slots) {
      std::memcpy(packed, block(slot), identity_bytes);
      packed += block_bytes_;
    }
  });
  charge(from.size());
}

void ChargedBlocks::scatter(const std::byte* packed, SlotList to) {
  to.visit([&](auto slots) {
    for (const auto slot : slots) {
      std::memcpy(block(slot), packed, identity_bytes);
      packed += block_bytes_;
    }
  });
  charge(to.size());
}

void ChargedBlocks::copy(SlotList from, SlotList to, std::span<std::byte> /*scratch*/) {
  from.visit([&](auto sources) {
    to.visit([&](auto targets) {
      for (std::size_t k = 0; k < sources.size(); ++k)
        std::memcpy(block(targets[k]), block(sources[k]), identity_bytes);
    });
  });
  charge(from.size());
}

void ChargedBlocks::pieces(std::uint64_t slot, Vector<MemoryPiece>& list) const {
  list.push_back({block(slot), block_bytes_});
}

}  // namespace valet::scale

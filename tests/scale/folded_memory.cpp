// SPDX-License-Identifier: BSD-3-Clause
#include "folded_memory.hpp"

#include <valet/mpi.hpp>

#include <cstring>
#include <new>
#include <stdexcept>
#include <sys/mman.h>

namespace valet::scale {
namespace {

// Far from where Linux puts programs, libraries and heaps. Each rank has a stretch of addresses and
// a table; the ranks are one process, so each finds the tables of all.
constexpr std::uintptr_t first_address = 0x1000'0000'0000;
constexpr std::uintptr_t first_table = 0x0800'0000'0000;
constexpr std::uintptr_t rank_bytes = std::uintptr_t{1} << 33;
constexpr std::uintptr_t table_bytes = std::uintptr_t{1} << 30;
constexpr std::uintptr_t most_ranks = 4096;

std::size_t block_bytes = 0;
bool folds = true;
std::uintptr_t next_address = 0;

bool is_folded(std::uintptr_t address) {
  return address >= first_address && address < first_address + most_ranks * rank_bytes;
}

std::uint64_t& word_of(std::uintptr_t address) {
  const std::uintptr_t offset = address - first_address;
  const std::uintptr_t table = first_table + offset / rank_bytes * table_bytes;
  return reinterpret_cast<std::uint64_t*>(table)[offset % rank_bytes / block_bytes];
}

/// Where an object of SimGrid's class CommImpl, which is in no header, has the address that its
/// message goes to: found by a message from and to known addresses.
class Target {
 public:
  void expect(std::uintptr_t source, std::uintptr_t target) {
    source_ = source;
    target_ = target;
  }
  /// False where it is not known.
  bool find(const void* communication, std::uintptr_t from, std::uintptr_t& to) {
    if (place_ < 0 && from == source_) place_ = place_in(communication);
    if (place_ >= 0) to = word(communication, place_);
    return place_ >= 0;
  }
  [[nodiscard]] bool is_known() const { return place_ >= 0; }

 private:
  static std::uintptr_t word(const void* object, int place) {
    std::uintptr_t value = 0;
    std::memcpy(&value, static_cast<const std::uintptr_t*>(object) + place, sizeof value);
    return value;
  }
  [[nodiscard]] int place_in(const void* communication) const {
    constexpr int words = 96;  // its size in SimGrid 3.32 is less than this
    for (int k = 0; k < words; ++k)
      if (word(communication, k) == target_) return k;
    return -1;
  }

  std::uintptr_t source_ = 0, target_ = 0;
  int place_ = -1;
};
Target target;

void copy_message(smx_activity_t communication, void* from, std::size_t bytes) {
  auto source = reinterpret_cast<std::uintptr_t>(from);
  if (!is_folded(source)) {
    smpi_comm_copy_buffer_callback(
        reinterpret_cast<simgrid::kernel::activity::CommImpl*>(communication), from, bytes);
    return;
  }
  std::uintptr_t to = 0;
  if (!target.find(communication, source, to) || !is_folded(to)) return;
  for (std::size_t done = 0; done + block_bytes <= bytes; done += block_bytes)
    word_of(to + done) = word_of(source + done);
}

/// A message of this rank to itself.
void learn_target() {
  std::byte* const from = FoldedMemory::reserve(block_bytes);
  std::byte* const to = FoldedMemory::reserve(block_bytes);
  target.expect(reinterpret_cast<std::uintptr_t>(from), reinterpret_cast<std::uintptr_t>(to));
  FoldedMemory::identity(from) = 1;
  MPI_Request request = MPI_REQUEST_NULL;
  const int bytes = static_cast<int>(block_bytes);
  MPI_Irecv(to, bytes, MPI_BYTE, 0, 0, MPI_COMM_SELF, &request);
  MPI_Send(from, bytes, MPI_BYTE, 0, 0, MPI_COMM_SELF);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (!target.is_known() || FoldedMemory::identity(to) != 1)
    throw std::runtime_error("this SimGrid does not tell where messages go to");
}

}  // namespace

FoldedMemory::FoldedMemory(std::size_t bytes, bool fold) {
  folds = fold;
  block_bytes = bytes;
  if (!folds) return;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto self = static_cast<std::uintptr_t>(rank);
  next_address = first_address + self * rank_bytes;
  const std::size_t words = rank_bytes / block_bytes + 1;
  void* const wanted = reinterpret_cast<void*>(first_table + self * table_bytes);
  if (self >= most_ranks || words * sizeof(std::uint64_t) > table_bytes ||
      mmap(wanted, words * sizeof(std::uint64_t), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != wanted)
    throw std::bad_alloc();
  if (rank == 0) {
    smpi_comm_set_copy_data_callback(copy_message);
    learn_target();
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

std::byte* FoldedMemory::reserve(std::size_t bytes) {
  if (!folds) {
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    return static_cast<std::byte*>(memory);
  }
  // Each begins at a page, as memory does.
  constexpr std::size_t page = 4096;
  auto* const memory = reinterpret_cast<std::byte*>(next_address);
  next_address += (bytes + block_bytes + page) / page * page;
  return memory;
}

std::uint64_t& FoldedMemory::identity(const std::byte* block) {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  return folds ? word_of(address) : *reinterpret_cast<std::uint64_t*>(address);
}

}  // namespace valet::scale

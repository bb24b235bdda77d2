// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What Valet takes the place of: each rank packs its particles into a buffer and writes that
/// behind those of the ranks before it. To go on, ranks read such sections into buffers, and
/// MPI_Alltoallv brings an equal share to each. What is wrong in the file is seen by the sums of
/// its particles.

#include "particles/cloud.hpp"
#include "support/data_limit.hpp"
#include "support/table.hpp"

#include <mpi.h>

#include <algorithm>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <vector>

namespace restart {

/// When the state was written, and its sums.
struct Moment {
  std::uint64_t step = 0;
  particles::Checksum sums;
};

struct Particle {
  std::byte bytes[particles::Cloud::bytes_each];
};

/// state.raw: the number of ranks and the moment, how many particles each rank had, and these.
class PackedFile {
 public:
  /// Collective. @throws example::BadInput on all ranks.
  PackedFile(MPI_Comm communicator, int mode) : communicator_(communicator) {
    if (MPI_File_open(communicator, "state.raw", mode, MPI_INFO_NULL, &file_) != MPI_SUCCESS)
      throw example::BadInput("state.raw cannot be opened; is it missing?");
    MPI_Type_contiguous(sizeof(Particle), MPI_BYTE, &particle_);
    MPI_Type_commit(&particle_);
  }
  PackedFile(const PackedFile&) = delete;
  PackedFile& operator=(const PackedFile&) = delete;
  ~PackedFile() {
    MPI_Type_free(&particle_);
    MPI_File_close(&file_);
  }

  /// Collective. @throws example::OutOfMemory on all ranks.
  void write(const particles::Cloud& cloud, const Moment& moment) {
    const Buffer packed(new (std::nothrow) Particle[cloud.count]);
    agree_on(packed != nullptr, cloud.count);
    for (std::uint64_t k = 0; k < cloud.count; ++k) cloud.pack(k, &packed[k]);
    std::vector<std::uint64_t> counts(size_);
    MPI_Allgather(&cloud.count, 1, MPI_UINT64_T, counts.data(), 1, MPI_UINT64_T, communicator_);
    Head head{size_, moment};
    if (rank_ == 0) {
      at(MPI_File_write_at, 0, &head, sizeof head, MPI_BYTE);
      at(MPI_File_write_at, sizeof head, counts.data(), size_, MPI_UINT64_T);
    }
    at(MPI_File_write_at, place_of(size_, places_of(counts)[rank_]), packed.get(), cloud.count,
       particle_);
  }

  /// Collective. @param cloud_for  Makes room for so many particles. @throws As write().
  template <class CloudFor>
  Moment read(CloudFor&& cloud_for) {
    Head head;
    at(MPI_File_read_at, 0, &head, sizeof head, MPI_BYTE);
    if (head.ranks == 0) throw example::BadInput("state.raw has no ranks");
    std::vector<std::uint64_t> counts(head.ranks);
    at(MPI_File_read_at, sizeof head, counts.data(), head.ranks, MPI_UINT64_T);
    const std::vector<std::uint64_t> sections = places_of(counts);
    const auto share = [&](std::size_t r) { return sections.back() * r / size_; };
    particles::Cloud& cloud = cloud_for(share(rank_ + 1) - share(rank_));

    std::uint64_t mine = 0;
    for (std::size_t q = rank_; q < head.ranks; q += size_) mine += counts[q];
    const Buffer packed(new (std::nothrow) Particle[mine]),
        arrived(new (std::nothrow) Particle[cloud.count]);
    agree_on(packed && arrived, mine + cloud.count);
    // Its sections ascend, and so do the shares: what this rank has for another is contiguous.
    std::vector<int> sent(size_, 0), received(size_, 0);
    mine = 0;
    for (std::size_t q = rank_; q < head.ranks; mine += counts[q], q += size_) {
      at(MPI_File_read_at, place_of(head.ranks, sections[q]), &packed[mine], counts[q], particle_);
      for (std::size_t r = 0; r < size_; ++r) {
        const auto from = std::max(sections[q], share(r));
        const auto to = std::min(sections[q + 1], share(r + 1));
        if (from < to) sent[r] += static_cast<int>(to - from);
      }
    }
    MPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, communicator_);
    MPI_Alltoallv(packed.get(), sent.data(), places_of(sent).data(), particle_, arrived.get(),
                  received.data(), places_of(received).data(), particle_, communicator_);
    for (std::uint64_t k = 0; k < cloud.count; ++k) cloud.unpack(k, &arrived[k]);
    return head.moment;
  }

 private:
  using Buffer = std::unique_ptr<Particle[]>;
  struct Head {
    std::uint64_t ranks = 0;
    Moment moment;
  };

  /// Throws on all ranks where the system refused memory to one.
  void agree_on(bool has_memory, std::uint64_t particles) const {
    const int size = static_cast<int>(size_);
    int refused = has_memory ? size : static_cast<int>(rank_);
    MPI_Allreduce(MPI_IN_PLACE, &refused, 1, MPI_INT, MPI_MIN, communicator_);
    if (refused == size) return;
    std::uint64_t bytes[2] = {particles * sizeof(Particle), example::data_bytes()};
    MPI_Bcast(bytes, 2, MPI_UINT64_T, refused, communicator_);
    throw example::OutOfMemory(example::formatted(
        "rank %d: no memory for %.1f MB of buffers, beside %.1f MB of data (--headroom)", refused,
        example::megabytes(bytes[0]), example::megabytes(bytes[1])));
  }
  /// Where each begins that lies behind the others; and the end.
  template <class Number>
  static std::vector<Number> places_of(const std::vector<Number>& counts) {
    std::vector<Number> places(counts.size() + 1, 0);
    std::partial_sum(counts.begin(), counts.end(), places.begin() + 1);
    return places;
  }
  static std::uint64_t place_of(std::uint64_t ranks, std::uint64_t particle) {
    return sizeof(Head) + ranks * sizeof(std::uint64_t) + particle * sizeof(Particle);
  }
  void at(auto access, std::uint64_t place, void* data, std::uint64_t count, MPI_Datatype type) {
    access(file_, static_cast<MPI_Offset>(place), data, static_cast<int>(count), type,
           MPI_STATUS_IGNORE);
  }

  MPI_Comm communicator_;
  std::size_t rank_ = static_cast<std::size_t>(example::rank_of(communicator_));
  std::size_t size_ = static_cast<std::size_t>(example::size_of(communicator_));
  MPI_File file_ = MPI_FILE_NULL;
  MPI_Datatype particle_ = MPI_DATATYPE_NULL;
};

}  // namespace restart

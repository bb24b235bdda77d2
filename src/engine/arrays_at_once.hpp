// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Moves what two grids share at once (engine/at_once.hpp): all that leaves is packed into scratch,
/// and what arrives is unpacked from there. Nothing is written before all that is read has been
/// packed, so source and target may be the same array.

#include "engine/array_part.hpp"
#include "engine/at_once.hpp"
#include "mpi/channel.hpp"
#include "observe/observer.hpp"
#include <valet/report.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace valet::layout {

class ArraysAtOnce {
 public:
  /// Local.
  /// @param peers  Are taken.
  ArraysAtOnce(const mpi::Channel& channel, Ledger& ledger, std::size_t element_bytes,
               ArrayPeers&& peers, const OutgoingPart& outgoing, const IncomingPart& incoming);

  /// Scratch that run() needs. [local]
  [[nodiscard]] static std::uint64_t scratch_bytes(const ArrayPeers& peers,
                                                   std::size_t element_bytes) {
    return static_cast<std::uint64_t>(peers.elements_sent + peers.elements_received +
                                      peers.own_elements) *
           element_bytes;
  }
  /// Moves everything. Collective, blocking. Fills in what was moved. Where it throws, scratch may
  /// not be freed.
  void run(std::span<std::byte> scratch, Report& report);

 private:
  [[nodiscard]] std::size_t bytes_of(std::int64_t elements) const {
    return static_cast<std::size_t>(elements) * element_bytes_;
  }
  std::byte* receive_all(std::byte* arriving);
  std::byte* send_all(std::byte* packed);
  std::byte* pack(int grid_rank, std::int64_t elements, std::byte* packed) const;
  const std::byte* unpack(int grid_rank, std::int64_t elements, const std::byte* packed) const;

  const observe::Observer& observer_;
  std::size_t element_bytes_;
  ArrayPeers peers_;  ///< beginning beside this rank
  OutgoingPart outgoing_;
  IncomingPart incoming_;
  engine::AtOnce messages_;
};

}  // namespace valet::layout

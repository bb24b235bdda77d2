// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Changes what is on its way: stands in front of MPI_Isend, for the library as well. Included by
/// one source of a program.

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <span>

namespace valet::test {

/// Looks at each message before it is sent until it has changed one, which it tells by true; empty:
/// nothing changes.
inline std::function<bool(std::span<std::byte>)> spoil;

/// Changes a byte of the next message that has so many bytes.
inline void spoil_next(std::size_t least_bytes) {
  spoil = [least_bytes](std::span<std::byte> sent) {
    if (sent.size() < least_bytes) return false;
    sent[least_bytes / 2] ^= std::byte{1};
    return true;
  };
}

}  // namespace valet::test

extern "C" __attribute__((visibility("default"))) int MPI_Isend(const void* buffer, int count,
                                                                MPI_Datatype type, int destination,
                                                                int tag, MPI_Comm comm,
                                                                MPI_Request* request) {
  int bytes = 0;
  PMPI_Type_size(type, &bytes);
  if (valet::test::spoil &&
      valet::test::spoil({static_cast<std::byte*>(const_cast<void*>(buffer)),
                          static_cast<std::size_t>(count) * static_cast<std::size_t>(bytes)}))
    valet::test::spoil = nullptr;
  return PMPI_Isend(buffer, count, type, destination, tag, comm, request);
}

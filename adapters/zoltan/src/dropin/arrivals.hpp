// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "context.hpp"

#include <cstddef>
#include <cstdint>

namespace valet::zoltan {

/// Memory for packed objects that wait for mid, straight from the operating system: in large pages
/// where it has them, because the first touch of a page costs more than the copy into it.
class HeldMemory {
 public:
  HeldMemory() = default;
  /// @throws std::bad_alloc.
  HeldMemory(Ledger& ledger, std::size_t bytes);
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;
  ~HeldMemory() { release(); }

  void allocate(Ledger& ledger, std::size_t bytes);
  void release();
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  Ledger* ledger_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Walks over held objects in the order in which they are unpacked: by (source, its exports), or
/// that of the import list where that leads.
class ArrivalWalk {
 public:
  ArrivalWalk(Ledger& ledger, const Imports& imports);

  struct Object {
    std::size_t source = 0;
    int size = 0;
    std::uint64_t offset = 0;
    std::uint64_t index = 0;  ///< among the arrivals by source
  };
  /// The next object; `count` times.
  Object next();

 private:
  struct Cursor {
    std::uint64_t object = 0;
    std::uint64_t end = 0;
    std::uint64_t offset = 0;
  };
  const Imports& imports_;
  Vector<Cursor> cursors_;
  std::size_t source_ = 0;
  std::uint64_t done_ = 0;
};

/// Unpacks everything in `held`. A multi form is called once while the offsets fit, otherwise as
/// few times as that takes. Returns the first failure, after which nothing more is unpacked.
std::optional<Diagnostic> unpack_all(Context& context, Imports& imports, std::byte* held,
                                     std::uint64_t bytes);

}  // namespace valet::zoltan

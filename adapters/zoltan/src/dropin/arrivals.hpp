// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "checksums.hpp"
#include "context.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace valet::zoltan {

/// Memory for packed objects that wait for mid, straight from the operating system: in large pages
/// where it has them, because the first touch of a page costs more than the copy into it.
class HeldMemory {
 public:
  HeldMemory() = default;
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;
  ~HeldMemory() { release(); }

  /// @throws std::bad_alloc.
  void allocate(Ledger& ledger, std::size_t bytes);
  void release();
  [[nodiscard]] std::byte* data() const { return data_; }
  /// Pages besides those that the bytes asked for fill: one at most.
  [[nodiscard]] std::size_t extra_bytes() const { return extra_bytes_; }

 private:
  Ledger* ledger_ = nullptr;
  std::byte* pages_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t extra_bytes_ = 0;
  std::size_t bytes_ = 0;
};

/// Held objects in the order in which they are unpacked: by (source, its exports), or that of the
/// import list where that leads.
[[nodiscard]] Vector<ArrivedRange> ranges_of_held(Ledger& ledger, const Imports& imports,
                                                  std::byte* held);

/// Adds objects to the checksums of their sources.
void add_checksums(Checksums& sums, const Imports& imports, std::span<const ArrivedRange> ranges);

/// Unpacks objects. A multi form is called once while the offsets fit an int, otherwise for a
/// source at a time and as few times as that takes. Returns the first failure, after which nothing
/// more is unpacked.
std::optional<Diagnostic> unpack(Context& context, Imports& imports,
                                 std::span<const ArrivedRange> ranges);

}  // namespace valet::zoltan

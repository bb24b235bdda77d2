// SPDX-License-Identifier: BSD-3-Clause
#include "junction/file/rows.hpp"

#include "base/diagnose.hpp"

#include <xxhash.h>

#include <algorithm>
#include <numeric>

namespace valet::file {
namespace {

/// The hash of a page whose bytes come one after the other.
class PageHash {
 public:
  PageHash() { XXH3_64bits_reset(&state_); }
  void add(std::span<const std::byte> bytes) {
    XXH3_64bits_update(&state_, bytes.data(), bytes.size());
  }
  [[nodiscard]] std::uint64_t value() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

/// Where a part has its bytes in the file, and the hashes of its pages.
struct PartPlace {
  std::uint64_t bytes_at, hashes_at;
};

/// Calls action(number, place, bytes) for the parts in their order.
template <class Action>
void for_each_part(const Parts& parts, Action&& action) {
  const Section& section = parts.section;
  PartPlace place{section.offset, section.table + parts.bytes.size_bytes()};
  for (std::size_t p = 0; p < parts.bytes.size(); ++p) {
    action(p, place, parts.bytes[p]);
    place.bytes_at += parts.bytes[p];
    place.hashes_at += section.pages_of(parts.bytes[p]) * sizeof(std::uint64_t);
  }
}

/// As many whole rows as fit, one at least. Of contiguous memory as much as stays in the cache from
/// the copy to the hash.
std::uint64_t rows_at_once(const std::byte* contiguous, std::span<std::byte> staging,
                           std::uint64_t row_bytes) {
  constexpr std::uint64_t cached = std::uint64_t{256} << 10;
  return std::max<std::uint64_t>((contiguous != nullptr ? cached : staging.size()) / row_bytes, 1);
}

/// Hashes of consecutive pages, written or read some at a time.
struct Hashes {
  static constexpr std::size_t most = 512;
  std::array<std::uint64_t, most> values;
  std::size_t count = 0;

  [[nodiscard]] std::span<std::uint64_t> all() { return std::span(values).first(count); }
};

std::optional<Diagnostic> write_part(mpi::File& file, const Section& section, PartPlace place,
                                     std::uint64_t bytes, const OwnPart& part,
                                     std::span<std::byte> staging) {
  Hashes hashes;
  const std::uint64_t rows = bytes / section.row_bytes;
  for (std::uint64_t row = 0; row < rows;) {
    const std::uint64_t end = std::min(row + section.page_rows(), rows);
    PageHash hash;
    while (row < end) {
      const std::uint64_t count =
          std::min(rows_at_once(part.data, staging, section.row_bytes), end - row);
      const auto size = static_cast<std::size_t>(count * section.row_bytes);
      std::span<const std::byte> packed = staging.first(part.data == nullptr ? size : 0);
      if (part.data == nullptr)
        part.pack(row, staging.first(size));
      else
        packed = {part.data + row * section.row_bytes, size};
      hash.add(packed);
      if (auto wrong = file.write(place.bytes_at, packed)) return wrong;
      place.bytes_at += size;
      row += count;
    }
    hashes.values[hashes.count++] = hash.value();
    if (hashes.count < Hashes::most && row < rows) continue;
    if (auto wrong = file.write(place.hashes_at, std::as_bytes(hashes.all()))) return wrong;
    place.hashes_at += hashes.all().size_bytes();
    hashes.count = 0;
  }
  return std::nullopt;
}

/// Rows of one part that are read.
class PartReader {
 public:
  PartReader(mpi::File& file, const Section& section, const RowSink& sink,
             std::span<std::byte> staging, const std::string& name)
      : file_(file), section_(section), sink_(sink), staging_(staging), name_(name) {}

  /// @param first, end  Of the wanted rows in the part.
  /// @param number      That the sink gives the first of them.
  std::optional<Diagnostic> read(std::size_t part, PartPlace place, std::uint64_t bytes,
                                 std::uint64_t first, std::uint64_t end, std::uint64_t number) {
    const std::uint64_t rows = bytes / section_.row_bytes, page_rows = section_.page_rows();
    for (std::uint64_t page = first / page_rows; page * page_rows < end; ++page) {
      const std::uint64_t begin = page * page_rows, stop = std::min(begin + page_rows, rows);
      const std::uint64_t wanted = std::max(begin, first), unwanted = std::min(stop, end);
      PageHash hash;
      if (auto wrong = pass_over(place, begin, wanted, hash)) return wrong;
      if (auto wrong = take(place, wanted, unwanted, number + (wanted - first), hash)) return wrong;
      if (auto wrong = pass_over(place, unwanted, stop, hash)) return wrong;
      std::uint64_t written = 0;
      const std::span<std::uint64_t> one(&written, 1);
      if (auto wrong =
              file_.read(place.hashes_at + page * sizeof(written), std::as_writable_bytes(one)))
        return wrong;
      if (written != hash.value())
        return diagnose(ErrorCode::corrupted, "page ", page, " of part ", part, " of ", name_,
                        " in '", file_.path(),
                        "' is damaged: its checksum differs; use an older file");
    }
    return std::nullopt;
  }

 private:
  /// Rows of a page that nobody wants.
  std::optional<Diagnostic> pass_over(const PartPlace& place, std::uint64_t row, std::uint64_t end,
                                      PageHash& hash) {
    std::uint64_t at = place.bytes_at + row * section_.row_bytes;
    for (std::uint64_t left = (end - row) * section_.row_bytes; left > 0;) {
      const auto now = staging_.first(std::min<std::uint64_t>(staging_.size(), left));
      if (auto wrong = file_.read(at, now)) return wrong;
      hash.add(now);
      at += now.size();
      left -= now.size();
    }
    return std::nullopt;
  }
  std::optional<Diagnostic> take(const PartPlace& place, std::uint64_t row, std::uint64_t end,
                                 std::uint64_t number, PageHash& hash) {
    while (row < end) {
      const std::uint64_t count =
          std::min(rows_at_once(sink_.data, staging_, section_.row_bytes), end - row);
      const auto size = static_cast<std::size_t>(count * section_.row_bytes);
      const auto now = sink_.data != nullptr
                           ? std::span(sink_.data + number * section_.row_bytes, size)
                           : staging_.first(size);
      if (auto wrong = file_.read(place.bytes_at + row * section_.row_bytes, now)) return wrong;
      hash.add(now);
      if (sink_.data == nullptr) sink_.unpack(number, now);
      row += count;
      number += count;
    }
    return std::nullopt;
  }

  mpi::File& file_;
  const Section& section_;
  const RowSink& sink_;
  std::span<std::byte> staging_;
  const std::string& name_;
};

}  // namespace

std::optional<Diagnostic> write_rows(mpi::File& file, const Parts& parts,
                                     std::span<const OwnPart> own, std::span<std::byte> staging) {
  std::optional<Diagnostic> wrong;
  auto next = own.begin();  // ascending, as the parts are
  for_each_part(parts, [&](std::size_t number, const PartPlace& place, std::uint64_t bytes) {
    if (wrong || next == own.end() || next->part != number) return;
    wrong = write_part(file, parts.section, place, bytes, *next++, staging);
  });
  return wrong;
}

std::optional<Diagnostic> read_rows(mpi::File& file, const Parts& parts, std::uint64_t first_row,
                                    std::uint64_t rows, const RowSink& sink,
                                    std::span<std::byte> staging, const std::string& name) {
  PartReader reader(file, parts.section, sink, staging, name);
  std::optional<Diagnostic> wrong;
  std::uint64_t before = 0;  // rows of the parts in front
  for_each_part(parts, [&](std::size_t number, const PartPlace& place, std::uint64_t bytes) {
    const std::uint64_t behind = before + bytes / parts.section.row_bytes;
    const std::uint64_t first = std::max(first_row, before),
                        end = std::min(first_row + rows, behind);
    if (!wrong && first < end)
      wrong = reader.read(number, place, bytes, first - before, end - before, first - first_row);
    before = behind;
  });
  return wrong;
}

}  // namespace valet::file

// SPDX-License-Identifier: BSD-3-Clause
#include "junction/file/rows.hpp"

#include "base/diagnose.hpp"

#include <algorithm>
#include <utility>

namespace valet::file {
namespace {

PartPlace first_part(const Parts& parts) {
  return {0, parts.section.offset, parts.section.table + parts.bytes.size_bytes()};
}

void go_on(PartPlace& place, const Parts& parts) {
  const std::uint64_t bytes = parts.bytes[place.number++];
  place.bytes_at += bytes;
  place.hashes_at += parts.section.pages_of(bytes) * sizeof(std::uint64_t);
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

std::optional<Diagnostic> write_part(mpi::File& file, const Parts& parts, PartPlace place,
                                     const OwnPart& part, std::span<std::byte> staging) {
  const Section& section = parts.section;
  Hashes hashes;
  const std::uint64_t rows = parts.bytes[place.number] / section.row_bytes;
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
      if (parts.meter != nullptr) parts.meter->advance(size);
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

}  // namespace

std::optional<Diagnostic> write_rows(mpi::File& file, const Parts& parts,
                                     std::span<const OwnPart> own, std::span<std::byte> staging) {
  PartPlace place = first_part(parts);
  if (parts.meter != nullptr) parts.meter->count_in(1);
  for (const OwnPart& part : own) {  // ascending, as the parts are
    while (place.number < part.part) go_on(place, parts);
    if (auto wrong = write_part(file, parts, place, part, staging)) return wrong;
  }
  return std::nullopt;
}

RowsReader::RowsReader(mpi::File& file, const Parts& parts, std::uint64_t first_row,
                       std::uint64_t rows, std::span<std::byte> staging, std::string name)
    : file_(file),
      parts_(parts),
      staging_(staging),
      name_(std::move(name)),
      part_(first_part(parts)),
      row_(first_row),
      left_(rows) {
  if (parts_.meter != nullptr) parts_.meter->count_in(1);
}

std::optional<Diagnostic> RowsReader::read(std::uint64_t rows, const RowSink& sink) {
  const std::uint64_t page_rows = parts_.section.page_rows();
  for (std::uint64_t number = 0; number < rows;) {
    for (; part_.number < parts_.bytes.size() && row_ >= rows_of_part(); go_on(part_, parts_))
      row_ -= rows_of_part();
    if (part_.number == parts_.bytes.size())
      return diagnose(ErrorCode::corrupted, name_, " in '", file_.path(),
                      "' is shorter than its lengths say; use an older file");
    const std::uint64_t page = row_ / page_rows,
                        end = std::min((page + 1) * page_rows, rows_of_part());
    if (const std::uint64_t before = row_ % page_rows; !has_begun_ && before > 0) {
      row_ -= before;
      if (auto wrong = pass_over(before)) return wrong;
    }
    has_begun_ = true;
    const std::uint64_t now = std::min(end - row_, rows - number);
    if (auto wrong = take(now, number, sink)) return wrong;
    number += now;
    left_ -= now;
    if (left_ == 0)
      if (auto wrong = pass_over(end - row_)) return wrong;
    if (row_ == end)
      if (auto wrong = compare(page)) return wrong;
  }
  return std::nullopt;
}

/// Rows that nobody wants.
std::optional<Diagnostic> RowsReader::pass_over(std::uint64_t rows) {
  std::uint64_t at = part_.bytes_at + row_ * parts_.section.row_bytes;
  row_ += rows;
  for (std::uint64_t left = rows * parts_.section.row_bytes; left > 0;) {
    const auto now = staging_.first(std::min<std::uint64_t>(staging_.size(), left));
    if (auto wrong = file_.read(at, now)) return wrong;
    hash_.add(now);
    at += now.size();
    left -= now.size();
  }
  return std::nullopt;
}

std::optional<Diagnostic> RowsReader::take(std::uint64_t rows, std::uint64_t number,
                                           const RowSink& sink) {
  const std::uint64_t row_bytes = parts_.section.row_bytes;
  for (const std::uint64_t end = row_ + rows; row_ < end;) {
    const std::uint64_t count = std::min(rows_at_once(sink.data, staging_, row_bytes), end - row_);
    const auto size = static_cast<std::size_t>(count * row_bytes);
    const auto now = sink.data != nullptr ? std::span(sink.data + number * row_bytes, size)
                                          : staging_.first(size);
    if (auto wrong = file_.read(part_.bytes_at + row_ * row_bytes, now)) return wrong;
    hash_.add(now);
    if (sink.data == nullptr) sink.unpack(number, now);
    if (parts_.meter != nullptr) parts_.meter->advance(size);
    row_ += count;
    number += count;
  }
  return std::nullopt;
}

std::optional<Diagnostic> RowsReader::compare(std::uint64_t page) {
  std::uint64_t written = 0;
  if (auto wrong = file_.read(part_.hashes_at + page * sizeof(written),
                              std::as_writable_bytes(std::span(&written, 1))))
    return wrong;
  if (written != hash_.value())
    return diagnose(ErrorCode::corrupted, "page ", page, " of part ", part_.number, " of ", name_,
                    " in '", file_.path(), "' is damaged: its checksum differs; use an older file");
  hash_.reset();
  return std::nullopt;
}

}  // namespace valet::file

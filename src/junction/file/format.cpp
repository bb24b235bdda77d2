// SPDX-License-Identifier: BSD-3-Clause
#include "junction/file/format.hpp"

#include "base/diagnose.hpp"

#include <xxhash.h>

#include <algorithm>
#include <limits>

namespace valet::file {

std::uint64_t hash_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t Head::right_hash() const {
  return hash_of(std::as_bytes(std::span(this, 1)).first(sizeof(Head) - sizeof(hash)));
}

void Head::seal() { hash = right_hash(); }

std::optional<Diagnostic> Head::check(const std::string& path, std::uint64_t bytes) const {
  const auto wrong = [&](const auto&... parts) {
    return diagnose(ErrorCode::file_failure, "'", path, "' ", parts...);
  };
  if (bytes < sizeof(Head)) return wrong("has ", bytes, " bytes, too few for a file of Valet");
  if (magic != right_magic)
    return wrong("is no file of Valet, or its writer was stopped: it begins otherwise");
  const auto is_reversed = [](std::uint32_t order) {
    return order == 0x04030201;  // right_order, the bytes from behind
  };
  if (is_reversed(byte_order))
    return wrong("was written on a machine with the other order of bytes; read it on such a one");
  if (version > newest_version)
    return wrong("has version ", version, " of the format, and this Valet reads up to ",
                 newest_version, "; take a newer Valet");
  if (byte_order != right_order || hash != right_hash())
    return diagnose(ErrorCode::corrupted, "the head of '", path,
                    "' is damaged: its checksum differs; use an older file");
  if (producers == 0 || producers > std::numeric_limits<int>::max() || index_offset > file_bytes ||
      index_words > (file_bytes - index_offset) / sizeof(std::int64_t))
    return diagnose(ErrorCode::corrupted, "the head of '", path, "' is damaged; use an older file");
  if (bytes < file_bytes)
    return wrong("has ", bytes, " of ", file_bytes,
                 " bytes: the end is missing; use an older file");
  return std::nullopt;
}

std::uint64_t Record::bytes() const {
  std::uint64_t sum = 0;
  for (const Section& section : sections) sum += section.bytes;
  return sum;
}

bool Record::is_sound(const Head& head) const {
  const auto fits = [&](const Section& section) {
    return section.row_bytes > 0 && section.bytes % section.row_bytes == 0 &&
           section.offset <= head.file_bytes && section.bytes <= head.file_bytes - section.offset &&
           section.table <= head.file_bytes && section.parts > 0 &&
           section.parts <= (head.file_bytes - section.table) / sizeof(std::uint64_t);
  };
  if (sections.empty() || !std::ranges::all_of(sections, fits)) return false;
  const Section& first = sections.front();
  if (description.content == junction::Content::array) {
    if (!description.grid || first.row_bytes != description.element_bytes) return false;
    const BlockCyclic& layout = description.grid->layout;
    return sections.size() == 1 && first.parts == static_cast<std::uint64_t>(layout.ranks()) &&
           first.rows() == static_cast<std::uint64_t>(layout.elements());
  }
  const auto is_of_ranks = [&](const Section& section) { return section.parts == head.producers; };
  if (!std::ranges::all_of(sections, is_of_ranks)) return false;
  if (description.content != junction::Content::ragged_blocks) {
    std::uint64_t bytes_of_fields = 0;
    for (const FieldFormat& field : fields) bytes_of_fields += field.row_bytes;
    return sections.size() == 1 && bytes_of_fields == first.row_bytes;
  }
  if (sections.size() < 2 * fields.size()) return false;
  for (std::size_t f = 0; f < fields.size(); ++f)
    if (sections[2 * f].row_bytes != sizeof(std::uint64_t) || sections[2 * f + 1].row_bytes != 1)
      return false;
  return std::ranges::all_of(sections, [&](const Section& section) {
    const auto number = static_cast<std::size_t>(&section - sections.data());
    const bool is_of_bytes = number < 2 * fields.size() && number % 2 == 1;
    return is_of_bytes || section.rows() == rows();
  });
}

Vector<std::int64_t> words_of(std::span<const FieldFormat> fields, Ledger& ledger) {
  Vector<std::int64_t> words(ledger);
  words.push_back(static_cast<std::int64_t>(fields.size()));
  for (const FieldFormat& field : fields) {
    junction::write_text(words, field.label);
    words.push_back(static_cast<std::int64_t>(field.row_bytes));
    words.push_back(static_cast<std::int64_t>(field.extents.size()));
    for (const std::uint64_t extent : field.extents)
      words.push_back(static_cast<std::int64_t>(extent));
  }
  return words;
}

std::vector<FieldFormat> fields_of(junction::WordReader& reader) {
  std::vector<FieldFormat> fields(reader.next_count());
  for (FieldFormat& field : fields) {
    field.label = reader.next_text();
    field.row_bytes = reader.next_size();
    field.extents.resize(reader.next_count());
    for (std::uint64_t& extent : field.extents) extent = reader.next_size();
  }
  return fields;
}

Vector<std::int64_t> words_of(std::span<const Record> records, Ledger& ledger) {
  Vector<std::int64_t> words(ledger);
  words.push_back(static_cast<std::int64_t>(records.size()));
  for (const Record& record : records) {
    const Vector<std::int64_t> description = record.description.words(ledger);
    words.push_back(static_cast<std::int64_t>(description.size()));
    words.insert(words.end(), description.begin(), description.end());
    words.push_back(static_cast<std::int64_t>(record.order));
    const Vector<std::int64_t> fields = words_of(record.fields, ledger);
    words.insert(words.end(), fields.begin(), fields.end());
    words.push_back(static_cast<std::int64_t>(record.sections.size()));
    for (const Section& section : record.sections)
      for (const std::uint64_t number : {section.row_bytes, section.offset, section.table,
                                         section.parts, section.bytes, section.parts_hash})
        words.push_back(static_cast<std::int64_t>(number));
  }
  return words;
}

std::vector<Record> records_of(std::span<const std::int64_t> words) {
  junction::WordReader reader(words);
  std::vector<Record> records(reader.next_count());
  for (Record& record : records) {
    record.description = junction::Description::from_words(reader.next_words(reader.next_count()));
    record.order = static_cast<IndexOrder>(reader.next());
    record.fields = fields_of(reader);
    record.sections.resize(reader.next_count());
    for (Section& section : record.sections)
      for (std::uint64_t* number : {&section.row_bytes, &section.offset, &section.table,
                                    &section.parts, &section.bytes, &section.parts_hash})
        *number = reader.next_size();
  }
  return records;
}

}  // namespace valet::file

// SPDX-License-Identifier: BSD-3-Clause
#include "junction/file/record_file.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "mpi/message.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <numeric>
#include <system_error>
#include <utility>

namespace valet::file {
namespace {

constexpr std::uint64_t word = sizeof(std::uint64_t);

std::uint64_t aligned(std::uint64_t offset, std::uint64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

/// The name of a file that is not whole.
std::string unfinished(const std::string& path) { return path + ".part"; }

const char* const no_memory = "no memory for the index of a file; nothing has moved";

}  // namespace

Writer::Writer(const mpi::Channel& channel, const std::string& path)
    : channel_(channel), path_(path) {
  mpi::agree(channel, file_.create(channel, unfinished(path)));
  try {
    mpi::agree(channel, file_.clear());
  } catch (...) {
    discard();
    throw;
  }
}

void Writer::append(Record record, std::span<const SectionContent> contents,
                    std::span<std::byte> staging, observe::ProgressMeter& meter,
                    const std::function<std::optional<Diagnostic>()>& failed) {
  std::optional<Diagnostic> wrong;
  for (const SectionContent& content : contents) {
    const std::span<const std::uint64_t> bytes(content.parts.data(), content.parts.size());
    Section section{.row_bytes = content.row_bytes,
                    .offset = aligned(end_, Section::alignment),
                    .parts = bytes.size()};
    section.bytes = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
    section.table = aligned(section.offset + section.bytes, word);
    section.parts_hash = hash_of(std::as_bytes(bytes));
    end_ = section.table + bytes.size_bytes();
    for (const std::uint64_t part : bytes) end_ += section.pages_of(part) * word;
    record.sections.push_back(section);
    if (wrong) continue;
    wrong = write_rows(file_, {section, bytes, &meter}, content.own, staging);
    if (!wrong && channel_.rank() == 0) wrong = file_.write(section.table, std::as_bytes(bytes));
  }
  if (!wrong && failed) wrong = failed();
  mpi::agree(channel_, wrong);
  records_.push_back(std::move(record));
}

void Writer::write_index() {
  const auto write = [&]() -> std::optional<Diagnostic> {
    Ledger ledger;
    const Vector<std::int64_t> words = words_of(records_, ledger);
    const auto bytes = std::as_bytes(std::span(words));
    Head head;
    head.index_offset = aligned(end_, word);
    head.index_words = words.size();
    head.file_bytes = head.index_offset + bytes.size();
    head.index_hash = hash_of(bytes);
    head.producers = static_cast<std::uint64_t>(channel_.size());
    head.seal();
    if (auto wrong = file_.write(head.index_offset, bytes)) return wrong;
    return file_.write(0, std::as_bytes(std::span(&head, 1)));
  };
  std::optional<Diagnostic> wrong;
  if (channel_.rank() == 0) wrong = detail::unless_out_of_memory(write, no_memory);
  mpi::agree(channel_, wrong);
}

void Writer::publish() {
  try {
    write_index();
    std::optional<Diagnostic> wrong = file_.sync();
    if (auto failed = file_.close(); failed && !wrong) wrong = failed;
    mpi::agree(channel_, wrong);
    if (channel_.rank() == 0 && std::rename(unfinished(path_).c_str(), path_.c_str()) != 0)
      wrong = diagnose(ErrorCode::file_failure, "'", path_,
                       "' cannot get its name: ", std::generic_category().message(errno));
    mpi::agree(channel_, wrong);
  } catch (...) {
    discard();
    throw;
  }
}

void Writer::discard() {
  static_cast<void>(file_.close());
  std::error_code ignored;
  if (channel_.rank() == 0) std::filesystem::remove(unfinished(path_), ignored);
  mpi::barrier(channel_);  // afterwards it is gone for all
}

Reader::Reader(const mpi::Channel& channel, const std::string& path, Ledger& ledger)
    : channel_(channel) {
  mpi::agree(channel, file_.open(channel, path));
  try {
    const bool reads = channel.rank() == 0;
    Head head;
    std::uint64_t bytes = 0;
    std::optional<Diagnostic> wrong;
    if (reads) {
      wrong = file_.size(bytes);
      if (!wrong && bytes >= sizeof(head))
        wrong = file_.read(0, std::as_writable_bytes(std::span(&head, 1)));
      if (!wrong) wrong = head.check(path, bytes);
    }
    mpi::agree(channel, wrong);
    mpi::broadcast(channel, std::as_writable_bytes(std::span(&head, 1)), 0);
    producers_ = static_cast<int>(head.producers);
    Vector<std::int64_t> words(ledger);
    wrong = detail::unless_out_of_memory([&] { words.resize(head.index_words); }, no_memory);
    const auto index = std::as_writable_bytes(std::span(words));
    if (reads && !wrong) wrong = file_.read(head.index_offset, index);
    if (reads && !wrong && hash_of(index) != head.index_hash)
      wrong = diagnose(ErrorCode::corrupted, "the index of '", path,
                       "' is damaged: its checksum differs; use an older file");
    mpi::agree(channel, wrong);
    mpi::broadcast(channel, index, 0);
    mpi::agree(channel,
               detail::unless_out_of_memory([&] { return parse(head, words); }, no_memory));
  } catch (...) {
    close();
    throw;
  }
}

std::optional<Diagnostic> Reader::parse(const Head& head, std::span<const std::int64_t> words) {
  try {
    records_ = records_of(words);
    if (std::ranges::all_of(records_, [&](const Record& record) { return record.is_sound(head); }))
      return std::nullopt;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {  // said below
  }
  return diagnose(ErrorCode::corrupted, "the index of '", file_.path(),
                  "' says what cannot be; use an older file");
}

Array<std::uint64_t> Reader::parts_of(const Section& section, Ledger& ledger) {
  Array<std::uint64_t> parts;
  std::optional<Diagnostic> wrong = detail::unless_out_of_memory(
      [&] { parts = Array<std::uint64_t>(ledger, static_cast<std::size_t>(section.parts)); },
      no_memory);
  const auto bytes = std::as_writable_bytes(std::span(parts.data(), parts.size()));
  if (!wrong && channel_.rank() == 0) {
    wrong = file_.read(section.table, bytes);
    if (!wrong && hash_of(bytes) != section.parts_hash)
      wrong = diagnose(ErrorCode::corrupted, "a table of '", file_.path(),
                       "' is damaged: its checksum differs; use an older file");
    std::uint64_t left = section.bytes;
    bool are_rows = true;
    for (const std::uint64_t part : parts) {
      are_rows = are_rows && part <= left && part % section.row_bytes == 0;
      left -= are_rows ? part : 0;
    }
    if (!wrong && !(are_rows && left == 0))
      wrong = diagnose(ErrorCode::corrupted, "a table of '", file_.path(),
                       "' says what cannot be; use an older file");
  }
  mpi::agree(channel_, wrong);
  mpi::broadcast(channel_, bytes, 0);
  return parts;
}

void Reader::close() { static_cast<void>(file_.close()); }

}  // namespace valet::file

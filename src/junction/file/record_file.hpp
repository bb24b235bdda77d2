// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A file of records, which all ranks write or read together.

#include "junction/file/rows.hpp"
#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace valet::file {

/// What a section is written from.
struct SectionContent {
  std::uint64_t row_bytes = 1;
  Array<std::uint64_t> parts;  ///< bytes of each [global]
  std::vector<OwnPart> own;    ///< ascending
};

class Writer {
 public:
  /// Creates the file, under another name. Collective. @throws Error file_failure on all ranks.
  Writer(const mpi::Channel& channel, const std::string& path);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() = default;

  /// Adds a record, whose sections are made of these. Collective. @throws Error file_failure on all
  /// ranks: nothing can be added any more.
  /// @param meter   Of the bytes of its rows on this rank.
  /// @param failed  Asked once all rows have been packed: what went wrong with that.
  void append(Record record, std::span<const SectionContent> contents, std::span<std::byte> staging,
              observe::ProgressMeter& meter,
              const std::function<std::optional<Diagnostic>()>& failed);
  /// Writes the index and gives the file its name. Collective. @throws Error file_failure on all
  /// ranks: then the file is removed, and what had the name still has it.
  void publish();
  /// Removes what was written, unless it has its name. Collective.
  void discard();

 private:
  void write_index();

  const mpi::Channel& channel_;
  std::string path_;
  mpi::File file_;
  std::vector<Record> records_;
  std::uint64_t end_ = sizeof(Head);
};

class Reader {
 public:
  /// Opens a file and reads its index. Collective. @throws Error file_failure, corrupted on all
  /// ranks.
  Reader(const mpi::Channel& channel, const std::string& path, Ledger& ledger);
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() = default;

  [[nodiscard]] std::span<const Record> records() const { return records_; }
  /// Ranks that wrote it.
  [[nodiscard]] int producers() const { return producers_; }
  [[nodiscard]] mpi::File& file() { return file_; }
  /// The bytes of each part. Collective. @throws Error as the constructor; out_of_memory.
  [[nodiscard]] Array<std::uint64_t> parts_of(const Section& section, Ledger& ledger);
  /// Collective.
  void close();

 private:
  [[nodiscard]] std::optional<Diagnostic> parse(const Head& head,
                                                std::span<const std::int64_t> words);

  const mpi::Channel& channel_;
  mpi::File file_;
  std::vector<Record> records_;
  int producers_ = 0;
};

}  // namespace valet::file

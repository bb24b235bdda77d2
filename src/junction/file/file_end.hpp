// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A junction with a file: what is put is written, and any number of ranks gets it later.

#include "base/callback_guard.hpp"
#include "junction/file/record_file.hpp"
#include "junction/transport.hpp"
#include "mpi/channel.hpp"
#include "observe/progress.hpp"

#include <optional>
#include <string>
#include <vector>

namespace valet::junction {

class FileEnd final : public Transport {
 public:
  /// Creates a file or opens one. Collective. @throws Error file_failure, corrupted.
  FileEnd(MPI_Comm communicator, const std::string& path, Direction direction,
          const JunctionOptions& chosen);
  FileEnd(const FileEnd&) = delete;
  FileEnd& operator=(const FileEnd&) = delete;
  ~FileEnd() override = default;

  [[nodiscard]] int ranks() const override { return channel_.size(); }
  [[nodiscard]] int other_ranks() const override { return reader_ ? reader_->producers() : 0; }
  [[nodiscard]] std::vector<JunctionRecord> records() const override;
  bool is_ready(const Transfer& /*transfer*/) override { return true; }
  void close() override;
  void abandon() override;

  // For transfers.

  [[nodiscard]] MPI_Comm communicator() const { return communicator_; }
  [[nodiscard]] const mpi::Channel& channel() const { return channel_; }
  [[nodiscard]] file::Reader& reader() { return *reader_; }
  /// The first record of that kind and label that has not been got. @throws Error
  /// invalid_argument.
  [[nodiscard]] const file::Record& next(const Description& wanted);
  /// Adds a record as file::Writer does, with progress.
  void append(file::Record record, std::span<const file::SectionContent> contents,
              std::span<std::byte> staging,
              const std::function<std::optional<Diagnostic>()>& failed = {});
  /// The progress of rows that this rank writes or reads.
  [[nodiscard]] observe::ProgressMeter progress(std::uint64_t rows, std::uint64_t row_bytes);
  /// How errors call it.
  [[nodiscard]] static std::string name_of(const Description& description);
  /// What a report has of every transfer, with what the ledger of a transfer counted.
  /// @param described  Bytes that tell what is shared, beside the budget.
  [[nodiscard]] Report report(const Ledger& ledger, std::uint64_t row_bytes, std::uint64_t parts,
                              std::uint64_t before, std::uint64_t after,
                              std::uint64_t described = 0) const;

 private:
  void finish(Entry& entry) override;
  /// What fails while rows are written leaves them unfinished, and the file with them.
  [[nodiscard]] bool is_fatal(ErrorCode code) const override {
    return writer_ && (code == ErrorCode::file_failure || code == ErrorCode::callback_failed ||
                       code == ErrorCode::mpi_failure);
  }
  void finish_all();
  Report run(Transfer& transfer);

  MPI_Comm communicator_;
  mpi::Channel channel_;
  Ledger ledger_;
  std::optional<file::Writer> writer_;
  std::optional<file::Reader> reader_;
  std::vector<bool> taken_;  ///< records that were got
  std::size_t current_ = 0;  ///< the record that is being got
  detail::CallbackGuard callbacks_;
  std::function<void(const Progress&)> progress_;  ///< does not throw
  observe::ProgressMeter* meter_ = nullptr;        ///< while rows are written or read
  bool watched_ = false;                           ///< some rank has a callback
};

}  // namespace valet::junction

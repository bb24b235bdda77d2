// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A junction with a file: what is put is written, and any number of ranks gets it later.

#include "junction/file/record_file.hpp"
#include "junction/transport.hpp"
#include "mpi/channel.hpp"

#include <deque>
#include <exception>
#include <memory>
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
  void add(std::shared_ptr<Transfer> transfer) override {
    entries_.push_back({std::move(transfer)});
  }
  bool is_ready(const Transfer& /*transfer*/) override { return true; }
  Report wait(const Transfer& transfer) override;
  void close() override;
  void abandon() override;

  // For transfers.

  [[nodiscard]] MPI_Comm communicator() const { return communicator_; }
  [[nodiscard]] const mpi::Channel& channel() const { return channel_; }
  [[nodiscard]] file::Writer& writer() { return *writer_; }
  [[nodiscard]] file::Reader& reader() { return *reader_; }
  /// The first record of that kind and label that has not been got. @throws Error
  /// invalid_argument.
  [[nodiscard]] const file::Record& next(const Description& wanted);
  /// How errors call it.
  [[nodiscard]] static std::string name_of(const Description& description);
  /// What a report has of every transfer, with what the ledger of a transfer counted.
  /// @param described  Bytes that tell what is shared, beside the budget.
  [[nodiscard]] Report report(const Ledger& ledger, std::uint64_t row_bytes, std::uint64_t parts,
                              std::uint64_t before, std::uint64_t after,
                              std::uint64_t described = 0) const;

 private:
  struct Entry {
    std::shared_ptr<Transfer> transfer;
    bool is_over = false;
    Report report = {};
    std::exception_ptr failure = {};
  };

  void carry_out(Entry& entry);
  Report run(Transfer& transfer);

  MPI_Comm communicator_;
  mpi::Channel channel_;
  Ledger ledger_;
  std::optional<file::Writer> writer_;
  std::optional<file::Reader> reader_;
  std::vector<bool> taken_;  ///< records that were got
  std::size_t current_ = 0;  ///< the record that is being got
  std::deque<Entry> entries_;
  std::string broken_;  ///< why nothing can be put any more; empty while it can
};

}  // namespace valet::junction

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What a junction leads to, and what goes there.

#include "junction/description.hpp"
#include <valet/junction.hpp>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace valet::junction {

class Link;
class FileEnd;

/// Something that is put or got.
class Transfer {
 public:
  explicit Transfer(Description description) : mine_(std::move(description)) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  virtual ~Transfer() = default;

  [[nodiscard]] const Description& mine() const { return mine_; }
  /// What this rank finds wrong with its own arguments, for another group of ranks. Local.
  [[nodiscard]] virtual std::optional<Diagnostic> check(const Link& link) const = 0;
  /// Moves everything: the descriptions of both sides are a pair. What it takes is freed in the
  /// end. Collective over both sides.
  virtual Report run(const Link& link, const Description& theirs) = 0;
  /// What its arguments have wrong already, for a file. Local.
  [[nodiscard]] virtual std::optional<Diagnostic> refusal() const { return std::nullopt; }
  /// Puts it into a file, or gets it. Collective.
  virtual Report store(FileEnd& file) = 0;
  virtual Report load(FileEnd& file) = 0;

 private:
  Description mine_;
};

/// Another group of ranks, or a file.
class Transport {
 public:
  explicit Transport(const JunctionOptions& chosen) : options(chosen) {}
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual int ranks() const = 0;
  [[nodiscard]] virtual int other_ranks() const = 0;
  /// Of a file that is read.
  [[nodiscard]] virtual std::vector<JunctionRecord> records() const { return {}; }

  /// A transfer comes after those before it. Waits for nobody.
  virtual void add(std::shared_ptr<Transfer> transfer) = 0;
  /// Local.
  virtual bool is_ready(const Transfer& transfer) = 0;
  /// Carries out a transfer after those before it. Collective. @throws Error as
  /// JunctionTransfer::wait(). Once for each.
  virtual Report wait(const Transfer& transfer) = 0;
  /// Carries out all transfers, then ends the connection, or the file. Collective.
  virtual void close() = 0;
  /// The same where nobody has closed it: a file that is being written is not whole. Collective.
  virtual void abandon() { close(); }

  /// What everything is moved with, as an operation has its options.
  template <class AnyOptions>
  [[nodiscard]] AnyOptions options_as() const {
    AnyOptions chosen;
    chosen.budget_bytes = options.budget_bytes;
    chosen.verify = options.verify;
    chosen.share_memory = options.share_memory;
    chosen.keep_memory = options.keep_memory;
    chosen.progress = options.progress;
    chosen.progress_bar = options.progress_bar;
    return chosen;
  }

  const JunctionOptions options;
};

}  // namespace valet::junction

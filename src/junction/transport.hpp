// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What a junction leads to, and what goes there.

#include "junction/description.hpp"
#include <valet/junction.hpp>

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
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

/// Another group of ranks, or a file. Transfers go there one after the other.
class Transport {
 public:
  /// @param broken_code  Of the error of what is asked for once nothing can go there any more.
  Transport(const JunctionOptions& chosen, ErrorCode broken_code)
      : options(chosen), broken_code_(broken_code) {}
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual int ranks() const = 0;
  [[nodiscard]] virtual int other_ranks() const = 0;
  /// Of a file that is read.
  [[nodiscard]] virtual std::vector<JunctionRecord> records() const { return {}; }

  /// A transfer comes after those before it. Waits for nobody.
  virtual void add(std::shared_ptr<Transfer> transfer) {
    entries_.push_back({std::move(transfer)});
  }
  /// Local.
  virtual bool is_ready(const Transfer& transfer) = 0;
  /// Carries out a transfer after those before it. Collective. @throws Error as
  /// JunctionTransfer::wait(). Once for each.
  Report wait(const Transfer& transfer);
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

 protected:
  enum class Stage : std::uint8_t { waiting, arriving, over };
  struct Entry {
    std::shared_ptr<Transfer> transfer;
    Stage stage = Stage::waiting;
    double since = 0;  ///< when this rank came
    Report report = {};
    std::exception_ptr failure = {};
  };

  /// Carries out a transfer that is not over, when those before it are. Collective.
  virtual void finish(Entry& entry) = 0;
  /// Whether nothing can go on after an error of all ranks.
  [[nodiscard]] virtual bool is_fatal(ErrorCode code) const = 0;
  /// Does a part of a transfer, which is over where that fails. What is no Error was thrown on this
  /// rank alone, and leaves the others somewhere else.
  void attempt(Entry& entry, const std::function<void()>& part);

  std::deque<Entry> entries_;  ///< that somebody may still wait for, in their order
  std::string broken_;         ///< why nothing can go there any more; empty while it can

 private:
  ErrorCode broken_code_;
};

}  // namespace valet::junction

// SPDX-License-Identifier: BSD-3-Clause
#include "junction/link.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include "mpi/check.hpp"
#include "mpi/message.hpp"
#include "mpi/wait_limit.hpp"

#include <algorithm>
#include <cmath>

namespace valet::junction {
namespace {

/// Words of descriptions that each side remembers, its own and the other's. Both forget them at the
/// same time.
constexpr std::size_t most_remembered = 2048;

/// What the other job is told when this one closes the junction.
class Closing final : public Transfer {
 public:
  Closing() : Transfer({.content = Content::nothing}) {}
  [[nodiscard]] std::optional<Diagnostic> check(const Link&) const override { return std::nullopt; }
  Report run(const Link&, const Description&) override { return {}; }
  Report store(FileEnd&) override { return {}; }
  Report load(FileEnd&) override { return {}; }
};

}  // namespace

Link::Link(MPI_Comm intercommunicator, bool is_ours, const JunctionOptions& chosen,
           const std::optional<Diagnostic>& wrong)
    : Transport(chosen, ErrorCode::mpi_failure),
      port_(is_ours ? intercommunicator : MPI_COMM_NULL),
      groups_(mpi::merge(intercommunicator)) {
  // The communicators of all calls are made while everybody is there.
  const mpi::Channel channel = mpi::Channel::open_for_call(communicator());
  const double seconds = options.timeout_seconds;
  mpi::Agreement agreement;
  agreement.equal({"option timeout_seconds, in milliseconds"},
                  std::isfinite(seconds) ? std::llround(seconds * 1000) : -1);
  agreement.equal({"option verify", mpi::yes_or_no}, options.verify);
  agreement.equal({"option share_memory", mpi::yes_or_no}, options.share_memory);
  agreement.run(channel, wrong || (seconds >= 0 && std::isfinite(seconds))
                             ? wrong
                             : invalid("option timeout_seconds is no time; give seconds, "
                                       "or 0 to wait for ever"));
  mpi::limit_waiting(communicator(), seconds);
}

void Link::add(std::shared_ptr<Transfer> transfer) {
  Transport::add(std::move(transfer));
  announce(entries_.back());
}

bool Link::is_ready(const Transfer& transfer) {
  for (Entry& entry : entries_) {
    if (entry.stage == Stage::over) {
      if (entry.transfer.get() == &transfer) return true;
      continue;
    }
    if (entry.transfer.get() != &transfer) return false;
    bool has_come = false;
    attempt(entry, [&] {
      has_come = mpi::has_completed(arrival_);
      if (!has_come) mpi::WaitLimit(options.timeout_seconds, entry.since).check();
    });
    return has_come || entry.stage == Stage::over;
  }
  return true;
}

void Link::close() {
  const auto closing = std::make_shared<Closing>();
  add(closing);
  wait(*closing);
  broken_ = "the junction is closed";
  mpi::separate(groups_, port_);
}

/// Lets all ranks know that this one has come to a transfer, if it is the first that is not over:
/// what is collective over the communicator must begin in the same order everywhere.
void Link::announce(Entry& entry) {
  for (const Entry& before : entries_) {
    if (&before == &entry) break;
    if (before.stage != Stage::over) return;
  }
  attempt(entry, [&] {
    const mpi::Channel channel = mpi::Channel::open_for_call(communicator());
    mpi::post_barrier(channel, arrival_);
    entry.stage = Stage::arriving;
    entry.since = mpi::now();
  });
}

/// Waits for all ranks and carries out a transfer, where that has not happened.
void Link::finish(Entry& entry) {
  if (entry.stage == Stage::waiting) announce(entry);
  if (entry.stage == Stage::over) return;
  attempt(entry, [&] {
    mpi::wait_for(arrival_, MPI_STATUS_IGNORE, options.timeout_seconds);
    entry.report = run(*entry.transfer);
    entry.stage = Stage::over;
  });
  const auto next = std::ranges::find(entries_, Stage::waiting, &Entry::stage);
  if (next != entries_.end()) announce(*next);
}

/// All ranks have come: they tell each other what they put and get, and do it.
Report Link::run(Transfer& transfer) {
  const Description theirs = exchange(transfer);
  const Description& mine = transfer.mine();
  if (const auto wrong = contradiction(mine, theirs)) {
    // A side that closes is gone whatever comes of it.
    if (mine.content == Content::nothing || theirs.content == Content::nothing)
      broken_ = wrong->text;
    throw Error(wrong->code, wrong->text);
  }
  Report report = transfer.run(*this, theirs);
  const std::size_t descriptions = ledger_.peak_bytes();
  report.peak_extra_bytes += descriptions;
  report.extra_bytes_bound += descriptions;
  return report;
}

/// What the other side puts or gets: in full where this side does not remember it. Collective.
Description Link::exchange(const Transfer& transfer) {
  struct Told {
    std::optional<std::uint64_t> digest, words;
  };
  const mpi::Channel channel = mpi::Channel::open_for_call(communicator());
  Vector<std::int64_t> mine(ledger_);
  std::optional<Diagnostic> wrong = detail::unless_out_of_memory(
      [&] { mine = transfer.mine().words(ledger_); }, "no memory for a layout; nothing has moved");
  if (!wrong) wrong = transfer.check(*this);
  Told told_by_first, told_by_second;
  const bool is_first = groups_.own.first < groups_.other.first;
  Told& own = is_first ? told_by_first : told_by_second;
  Told& other = is_first ? told_by_second : told_by_first;
  own = {digest_of(mine), mine.size()};
  mpi::Agreement agreement;
  for (Told* told : {&told_by_first, &told_by_second}) {
    agreement.equal({"what one side of a junction puts or gets (layout, element size, label)",
                     nullptr, "give the same on all ranks of that side"},
                    told->digest);
    agreement.equal({"the length of that"}, told->words);
  }
  agreement.run(channel, wrong);

  const auto found = std::ranges::find(known_, *other.digest, &Known::digest);
  const bool is_told = std::ranges::find(told_, *own.digest) != told_.end();
  Vector<std::int64_t> theirs(ledger_);
  mpi::agree(channel, detail::unless_out_of_memory(
                          [&] {
                            if (found != known_.end())
                              theirs = found->words;
                            else
                              theirs.resize(*other.words);
                          },
                          "no memory for the other side's layout; nothing has moved"));
  const auto receive = [&] {
    if (found == known_.end())
      mpi::broadcast(channel, std::as_writable_bytes(std::span(theirs)), groups_.other.first);
  };
  if (!is_first) receive();
  if (!is_told) mpi::broadcast(channel, std::as_writable_bytes(std::span(mine)), groups_.own.first);
  if (is_first) receive();
  // Sums that are the same on both sides.
  const std::size_t new_words =
      (is_told ? 0 : mine.size()) + (found == known_.end() ? theirs.size() : 0);
  if (remembered_ + new_words > most_remembered) {
    known_.clear();
    told_.clear();
    remembered_ = 0;
  } else {
    if (found == known_.end()) known_.push_back({*other.digest, theirs});
    if (!is_told) told_.push_back(*own.digest);
    remembered_ += new_words;
  }
  return Description::from_words(theirs);
}

}  // namespace valet::junction

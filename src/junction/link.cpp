// SPDX-License-Identifier: BSD-3-Clause
#include "junction/link.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include "mpi/check.hpp"
#include "mpi/message.hpp"
#include "mpi/wait_limit.hpp"
#include "plan/check_options.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

namespace valet::junction {
namespace {

/// Descriptions that each side remembers of the other. Both forget them at the same time.
constexpr std::size_t most_known = 64;

/// The ranks of `group`, which follow each other in `merged`.
Side side_of(MPI_Group group, MPI_Group merged) {
  Side side;
  const int first = 0;
  mpi::check(MPI_Group_size(group, &side.count), "MPI_Group_size");
  mpi::check(MPI_Group_translate_ranks(group, 1, &first, merged, &side.first),
             "MPI_Group_translate_ranks");
  MPI_Group_free(&group);
  return side;
}

}  // namespace

Link::Link(MPI_Comm intercommunicator, bool is_ours, const JunctionOptions& chosen)
    : options(chosen), port_(is_ours ? intercommunicator : MPI_COMM_NULL), known_(ledger_) {
  mpi::check(MPI_Intercomm_merge(intercommunicator, 0, &communicator_), "MPI_Intercomm_merge");
  mpi::check(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  MPI_Group own = MPI_GROUP_NULL, other = MPI_GROUP_NULL, merged = MPI_GROUP_NULL;
  mpi::check(MPI_Comm_group(communicator_, &merged), "MPI_Comm_group");
  mpi::check(MPI_Comm_group(intercommunicator, &own), "MPI_Comm_group");
  mpi::check(MPI_Comm_remote_group(intercommunicator, &other), "MPI_Comm_remote_group");
  own_ = side_of(own, merged);
  other_ = side_of(other, merged);
  MPI_Group_free(&merged);
  mpi::limit_waiting(communicator_, options.timeout_seconds);
}

Link::~Link() {
  // What does not answer any more cannot take part in what is collective.
  if (!broken_.empty() || !mpi::is_usable()) return;
  MPI_Comm_free(&communicator_);
  if (port_ != MPI_COMM_NULL) MPI_Comm_disconnect(&port_);
}

void Link::add(std::shared_ptr<Transfer> transfer) {
  entries_.push_back({std::move(transfer)});
  if (entries_.size() == 1) advance(entries_.front(), false);
}

bool Link::progress(const Transfer& transfer) {
  for (Entry& entry : entries_) {
    if (!advance(entry, false)) return false;
    if (entry.transfer.get() == &transfer) return true;
    advance(entry, true);  // which waits for nothing, so that the next one can begin
  }
  return true;
}

Report Link::wait(const Transfer& transfer) {
  const auto mine = std::ranges::find(entries_, &transfer,
                                      [](const Entry& entry) { return entry.transfer.get(); });
  for (auto entry = entries_.begin(); entry <= mine; ++entry) advance(*entry, true);
  const Entry ended = std::move(*mine);
  entries_.erase(mine);
  if (ended.failure) std::rethrow_exception(ended.failure);
  return ended.report;
}

void Link::close() {
  for (Entry& entry : entries_) advance(entry, true);
  if (!broken_.empty()) return;
  const mpi::Channel channel = mpi::Channel::open_for_call(communicator_);
  mpi::barrier(channel);
}

/// Brings a transfer, the first that is not over, as far as it goes. @return Whether it needs no
/// waiting any more; with `waits` it is over.
bool Link::advance(Entry& entry, bool waits) {
  if (entry.stage == Stage::waiting)
    step(entry, Stage::arriving, [&] {
      const mpi::Channel channel = mpi::Channel::open_for_call(communicator_);
      mpi::post_barrier(channel, arrival_);
    });
  if (entry.stage == Stage::arriving) {
    if (!waits && !has_arrived()) return false;
    step(entry, Stage::under_way, [&] {
      mpi::wait_for(arrival_, MPI_STATUS_IGNORE, options.timeout_seconds);
      meet(*entry.transfer);
    });
  }
  if (entry.stage == Stage::over) return true;
  if (!waits) {
    bool goes_on = false;
    step(entry, Stage::under_way, [&] { goes_on = !entry.transfer->progress(); });
    return !goes_on;
  }
  step(entry, Stage::over, [&] {
    entry.report = entry.transfer->finish();
    const std::size_t descriptions = ledger_.peak_bytes();
    entry.report.peak_extra_bytes += descriptions;
    entry.report.extra_bytes_bound += descriptions;
  });
  return true;
}

/// Does a part of a transfer, which then is at `next`, or over where that fails.
void Link::step(Entry& entry, Stage next, const std::function<void()>& part) {
  const detail::MemoryReserve reserve;
  entry.stage = Stage::over;
  try {
    if (!broken_.empty()) throw Error(ErrorCode::mpi_failure, broken_);
    part();
    entry.stage = next;
  } catch (const Error& error) {
    entry.failure = std::current_exception();
    if (error.code() == ErrorCode::mpi_failure) broken_ = error.what();
  }
}

/// Whether all ranks have come to the first transfer that is not over. Local.
bool Link::has_arrived() {
  int flag = 0;
  mpi::check(MPI_Test(&arrival_, &flag, MPI_STATUS_IGNORE), "MPI_Test");
  return flag != 0;
}

/// All ranks have come: they tell each other what they put and get, and begin.
void Link::meet(Transfer& transfer) {
  const bool is_first = own_.first < other_.first;
  const Description theirs = exchange(transfer);
  const Description& mine = transfer.mine();
  if (const auto wrong = contradiction(is_first ? mine : theirs, is_first ? theirs : mine))
    throw Error(wrong->code, wrong->text);
  transfer.begin(*this, theirs);
}

/// What the other side puts or gets: in full where this side does not remember it. Collective.
Description Link::exchange(const Transfer& transfer) {
  struct Told {
    std::optional<std::uint64_t> digest, words;
  };
  const mpi::Channel channel = mpi::Channel::open_for_call(communicator_);
  Vector<std::int64_t> mine = transfer.mine().words(ledger_);
  Told told_by_first, told_by_second;
  const bool is_first = own_.first < other_.first;
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
  agreement.equal({"JunctionOptions::verify", mpi::yes_or_no}, options.verify);
  agreement.equal({"JunctionOptions::share_memory", mpi::yes_or_no}, options.share_memory);
  agreement.run(channel, transfer.check(*this));
  if (known_.size() + told_.size() > most_known) {
    known_.clear();
    told_.clear();
  }
  Vector<std::int64_t>* theirs = nullptr;
  const auto receive = [&] {
    const auto found = std::ranges::find(known_, *other.digest, &Known::digest);
    if (found != known_.end()) {
      theirs = &found->words;
      return;
    }
    theirs = &known_.emplace_back(Known{*other.digest, Vector<std::int64_t>(ledger_)}).words;
    theirs->resize(*other.words);
    mpi::broadcast(channel, std::as_writable_bytes(std::span(*theirs)), other_.first);
  };
  const auto tell = [&] {
    if (std::ranges::find(told_, *own.digest) != told_.end()) return;
    told_.push_back(*own.digest);
    mpi::broadcast(channel, std::as_writable_bytes(std::span(mine)), own_.first);
  };
  if (!is_first) receive();
  tell();
  if (is_first) receive();
  return Description::from_words(*theirs);
}

}  // namespace valet::junction

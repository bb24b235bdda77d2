// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/agreement.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "mpi/check.hpp"
#include "mpi/wait_limit.hpp"
#include <valet/detail/agree.hpp>

#include <cstring>
#include <memory>

namespace valet::mpi {
namespace {

template <class Value>
void reduce(const Channel& channel, std::span<Value> values, MPI_Datatype type, MPI_Op operation) {
  const Waiting waiting(channel.hooks());
  call_blocking(channel, "MPI_Allreduce", MPI_Allreduce, MPI_Iallreduce,
                {{}, std::as_writable_bytes(values), {}},
                [&](auto* call, const CallMemory& memory, auto... request) {
                  return call(MPI_IN_PLACE, memory.received.data(), checked_count(values.size()),
                              type, operation, channel.get(), request...);
                });
}

/// The sums or the like of lower ranks. Collective.
template <class Value>
void reduce_lower(const Channel& channel, std::span<const Value> values, std::span<Value> results,
                  MPI_Datatype type, MPI_Op operation) {
  const Waiting waiting(channel.hooks());
  call_blocking(channel, "MPI_Exscan", MPI_Exscan, MPI_Iexscan,
                {std::as_bytes(values), std::as_writable_bytes(results), {}},
                [&](auto* call, const CallMemory& memory, auto... request) {
                  return call(memory.sent.data(), memory.received.data(),
                              checked_count(values.size()), type, operation, channel.get(),
                              request...);
                });
}

/// Where the text names a budget that is enough, the largest of all ranks is put in.
[[noreturn]] void throw_finding_of(int failed, const Channel& channel,
                                   const std::optional<Diagnostic>& mine, std::uint64_t enough) {
  std::array<int, 2> code_and_length{};
  std::string text;
  if (channel.rank() == failed) {
    text = joined("rank ", failed, ": ", mine->text);
    code_and_length = {static_cast<int>(mine->code), checked_count(text.size())};
  }
  broadcast(channel, std::as_writable_bytes(std::span(code_and_length)), failed);
  text.resize(static_cast<std::size_t>(code_and_length[1]));
  broadcast(channel, std::as_writable_bytes(std::span(text)), failed);
  const auto code = static_cast<ErrorCode>(code_and_length[0]);
  const std::size_t mark = text.find(enough_mark);
  if (code == ErrorCode::budget_too_small && mark != std::string::npos) {
    reduce(channel, std::span(&enough, 1), MPI_UINT64_T, MPI_MAX);
    text.replace(mark, std::strlen(enough_mark), std::to_string(enough));
  }
  throw Error(code, text);
}

std::string ranks_text(std::int64_t first, std::int64_t last, std::uint64_t count) {
  if (count == 1) return joined("rank ", first);
  const std::string range = joined("ranks ", first, "-", last);
  const bool are_all = static_cast<std::uint64_t>(last - first) + 1 == count;
  return are_all ? range : joined(count, " of the ", range);
}

/// Which ranks have which of the values that differ, the least of them being `least`. Two
/// reductions a value, no list of ranks.
[[noreturn]] void throw_difference(const Channel& channel, const Named& named, std::int64_t least,
                                   const std::optional<std::int64_t>& own) {
  constexpr int most_shown = 4;
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::string text = std::string(named.name) + " differs: ";
  std::int64_t value = least;
  for (int shown = 0; value != none && shown < most_shown; ++shown) {
    const bool is_mine = own && *own == value;
    std::array<std::int64_t, 3> words{is_mine ? ~channel.rank() : ~channel.size(),
                                      is_mine ? channel.rank() : -1,
                                      own && *own > value ? ~*own : ~none};
    std::array<std::uint64_t, 1> count{is_mine ? 1U : 0U};
    reduce(channel, std::span<std::int64_t>(words), MPI_INT64_T, MPI_MAX);
    reduce(channel, std::span<std::uint64_t>(count), MPI_UINT64_T, MPI_SUM);
    const std::string what = named.text != nullptr ? named.text(value)
                             : shown == 0          ? "one"
                                                   : "another";
    text += (shown == 0 ? "" : ", ") + what + " on " + ranks_text(~words[0], words[1], count[0]);
    value = ~words[2];
  }
  if (value != none) text += " and others elsewhere";
  throw Error(named.code, text + "; " + named.remedy);
}

}  // namespace

void Agreement::add(const Entry& entry, std::int64_t word) {
  Entry& added = entries_[entry_count_++].entry;
  std::construct_at(&added, entry);
  added.first = word_count_;
  add_word(word);
}

void Agreement::add_word(std::int64_t word) {
  if (word_count_ == most_words)
    throw Error(ErrorCode::internal, "more values than one agreement carries");
  words_[word_count_++] = word;
}

void Agreement::run(const Channel& channel, const std::optional<Diagnostic>& mine) {
  const Words own = words_;
  // Largest on the lowest rank that failed, and 0 when none did.
  words_[0] = mine ? channel.size() - channel.rank() : 0;
  reduce(channel, std::span(words_).first(word_count_), MPI_INT64_T, MPI_MAX);
  if (words_[0] != 0)
    throw_finding_of(channel.size() - static_cast<int>(words_[0]), channel, mine, enough_);
  for (const Place& place : std::span(entries_).first(entry_count_)) {
    const Entry& entry = place.entry;
    const std::int64_t word = words_[entry.first];
    if (entry.is_explained && word > ~words_[entry.first + 1]) explain_();
    if (entry.named) {
      const std::int64_t least = ~words_[entry.first + 1];
      const bool has_none = own[entry.first] == lowest && own[entry.first + 1] == lowest;
      if (word > least)
        throw_difference(channel, *entry.named, least,
                         has_none ? std::nullopt : std::optional(own[entry.first]));
      if (word < least) continue;  // no rank has one
    }
    if (entry.store != nullptr) entry.store(entry.value, word);
  }
}

Diagnostic budget_too_small_for(const std::string& what, std::uint64_t budget_bytes) {
  return diagnose(ErrorCode::budget_too_small, "the budget of ", budget_bytes,
                  " bytes is too small for ", what, "; set budget_bytes to ", at_least_enough);
}

void agree(const Channel& channel, const std::optional<Diagnostic>& mine, std::uint64_t enough) {
  Agreement agreement;
  agreement.enough(enough);
  agreement.run(channel, mine);
}

bool on_some_rank(const Channel& channel, bool here, const std::optional<Diagnostic>& mine) {
  Agreement agreement;
  agreement.largest(here);
  agreement.run(channel, mine);
  return here;
}

Borrowing::Borrowing(Channel& channel) : channel_(channel) {
  if (channel.is_planning())
    most_ = least_ = static_cast<std::int64_t>(channel.free_communicators());
}

void Borrowing::join(Agreement& agreement) {
  agreement.largest(most_);
  agreement.least(least_);
}

bool Borrowing::complete() {
  if (!channel_.is_planning()) return true;
  const bool alike = most_ == least_;
  channel_.borrow(alike);
  return alike;
}

void exchange_all(const Channel& channel, std::span<const std::byte> parts,
                  std::span<std::byte> from) {
  const int bytes = checked_count(parts.size() / static_cast<std::size_t>(channel.size()));
  const Waiting waiting(channel.hooks());
  call_blocking(channel, "MPI_Alltoall", MPI_Alltoall, MPI_Ialltoall, {parts, from, {}},
                [&](auto* call, const CallMemory& memory, auto... request) {
                  return call(memory.sent.data(), bytes, MPI_BYTE, memory.received.data(), bytes,
                              MPI_BYTE, channel.get(), request...);
                });
}

void gather_everywhere(const Channel& channel, std::span<const std::byte> own,
                       std::span<std::byte> all) {
  const int bytes = checked_count(own.size());
  const Waiting waiting(channel.hooks());
  call_blocking(channel, "MPI_Allgather", MPI_Allgather, MPI_Iallgather, {own, all, {}},
                [&](auto* call, const CallMemory& memory, auto... request) {
                  return call(memory.sent.data(), bytes, MPI_BYTE, memory.received.data(), bytes,
                              MPI_BYTE, channel.get(), request...);
                });
}

std::int64_t maximum_of_lower(const Channel& channel, std::int64_t value) {
  std::int64_t maximum = 0;
  reduce_lower<std::int64_t>(channel, {&value, 1}, {&maximum, 1}, MPI_INT64_T, MPI_MAX);
  return channel.rank() == 0 ? std::numeric_limits<std::int64_t>::min() : maximum;
}

std::uint64_t sum_of_lower(const Channel& channel, std::uint64_t value) {
  std::uint64_t sum = 0;
  reduce_lower<std::uint64_t>(channel, {&value, 1}, {&sum, 1}, MPI_UINT64_T, MPI_SUM);
  return channel.rank() == 0 ? 0 : sum;
}

void sum_of_lower(const Channel& channel, std::span<const double> values, std::span<double> sums) {
  reduce_lower(channel, values, sums, MPI_DOUBLE, MPI_SUM);
  if (channel.rank() == 0) std::ranges::fill(sums, 0);
}

void sum(const Channel& channel, std::span<std::uint64_t> values) {
  reduce(channel, values, MPI_UINT64_T, MPI_SUM);
}

void sum(const Channel& channel, std::span<double> values) {
  reduce(channel, values, MPI_DOUBLE, MPI_SUM);
}

void maximum(const Channel& channel, std::span<std::uint64_t> values) {
  reduce(channel, values, MPI_UINT64_T, MPI_MAX);
}

void maximum(const Channel& channel, std::span<double> values) {
  reduce(channel, values, MPI_DOUBLE, MPI_MAX);
}

void broadcast(const Channel& channel, std::span<std::byte> bytes, int from) {
  const Waiting waiting(channel.hooks());
  call_blocking(
      channel, "MPI_Bcast", MPI_Bcast, MPI_Ibcast, {{}, bytes, {}},
      [&](auto* call, const CallMemory& memory, auto... request) {
        return call(memory.received.data(), checked_count(bytes.size()), MPI_BYTE, from,
                    channel.get(), request...);
      },
      from);
}

void unite(const Channel& channel, std::span<std::uint64_t> values) {
  reduce(channel, values, MPI_UINT64_T, MPI_BOR);
}

}  // namespace valet::mpi

namespace valet::detail {

void agree(MPI_Comm communicator, const std::function<std::optional<Diagnostic>(int)>& find) {
  const detail::MemoryReserve reserve;
  const mpi::Channel channel = mpi::Channel::open_for_call(communicator);
  mpi::agree(channel, find(channel.rank()));
}

}  // namespace valet::detail

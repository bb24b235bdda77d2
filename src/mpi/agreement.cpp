// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/agreement.hpp"

#include "mpi/check.hpp"
#include <valet/detail/agree.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace valet::mpi {
namespace {

constexpr std::size_t most_maxima = 39;

[[noreturn]] void throw_finding_of(int failed, const Channel& channel,
                                   const std::optional<Diagnostic>& mine) {
  std::array<int, 2> code_and_length{};
  std::string text;
  if (channel.rank() == failed) {
    text = "rank " + std::to_string(failed) + ": " + mine->text;
    code_and_length = {static_cast<int>(mine->code), checked_count(text.size())};
  }
  check(MPI_Bcast(code_and_length.data(), 2, MPI_INT, failed, channel.get()), "MPI_Bcast", failed);
  text.resize(static_cast<std::size_t>(code_and_length[1]));
  check(MPI_Bcast(text.data(), code_and_length[1], MPI_CHAR, failed, channel.get()), "MPI_Bcast",
        failed);
  throw Error(static_cast<ErrorCode>(code_and_length[0]), text);
}

template <class Value>
void reduce(const Channel& channel, std::span<Value> values, MPI_Datatype type, MPI_Op operation) {
  const Waiting waiting(channel.hooks());
  check(MPI_Allreduce(MPI_IN_PLACE, values.data(), checked_count(values.size()), type, operation,
                      channel.get()),
        "MPI_Allreduce");
}

}  // namespace

void agree(const Channel& channel, const std::optional<Diagnostic>& mine,
           std::span<std::int64_t> maxima) {
  // The first value is largest on the lowest rank that failed, and 0 when none did.
  std::array<std::int64_t, most_maxima + 1> values{};
  if (maxima.size() > most_maxima)
    throw Error(ErrorCode::internal, "more maxima than one agreement carries");
  values[0] = mine ? channel.size() - channel.rank() : 0;
  std::copy(maxima.begin(), maxima.end(), values.begin() + 1);
  reduce(channel, std::span(values).first(maxima.size() + 1), MPI_INT64_T, MPI_MAX);
  if (values[0] != 0) throw_finding_of(channel.size() - static_cast<int>(values[0]), channel, mine);
  std::copy_n(values.begin() + 1, maxima.size(), maxima.begin());
}

void exchange_all(const Channel& channel, std::span<const std::uint64_t> values,
                  std::span<std::uint64_t> from) {
  const void* const sent = values.data();
  void* const received = from.data();
  const Waiting waiting(channel.hooks());
  check(MPI_Alltoall(sent, 1, MPI_UINT64_T, received, 1, MPI_UINT64_T, channel.get()),
        "MPI_Alltoall");
}

void gather_everywhere(const Channel& channel, std::span<const std::byte> own,
                       std::span<std::byte> all) {
  const int bytes = checked_count(own.size());
  const Waiting waiting(channel.hooks());
  check(MPI_Allgather(own.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, channel.get()),
        "MPI_Allgather");
}

std::int64_t maximum_of_lower(const Channel& channel, std::int64_t value) {
  std::int64_t maximum = 0;
  const Waiting waiting(channel.hooks());
  check(MPI_Exscan(&value, &maximum, 1, MPI_INT64_T, MPI_MAX, channel.get()), "MPI_Exscan");
  return channel.rank() == 0 ? std::numeric_limits<std::int64_t>::min() : maximum;
}

std::uint64_t sum_of_lower(const Channel& channel, std::uint64_t value) {
  std::uint64_t sum = 0;
  const Waiting waiting(channel.hooks());
  check(MPI_Exscan(&value, &sum, 1, MPI_UINT64_T, MPI_SUM, channel.get()), "MPI_Exscan");
  return channel.rank() == 0 ? 0 : sum;
}

void sum(const Channel& channel, std::span<std::uint64_t> values) {
  reduce(channel, values, MPI_UINT64_T, MPI_SUM);
}

void maximum(const Channel& channel, std::span<std::uint64_t> values) {
  reduce(channel, values, MPI_UINT64_T, MPI_MAX);
}

void maximum(const Channel& channel, std::span<double> values) {
  reduce(channel, values, MPI_DOUBLE, MPI_MAX);
}

}  // namespace valet::mpi

namespace valet::detail {

int rank_in(MPI_Comm communicator) { return mpi::Channel::open(communicator).rank(); }

void agree(MPI_Comm communicator, const std::optional<Diagnostic>& mine) {
  mpi::agree(mpi::Channel::open(communicator), mine);
}

}  // namespace valet::detail

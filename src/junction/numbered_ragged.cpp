// SPDX-License-Identifier: BSD-3-Clause
#include "junction/numbered_ragged.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "base/promise.hpp"
#include "base/sizes.hpp"
#include "junction/exchange.hpp"
#include "junction/ragged_room.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"

#include <xxhash.h>

#include <array>
#include <memory>
#include <utility>

namespace valet::junction {
namespace {

const char* const no_lengths = "no memory for the lengths of blocks; nothing has moved";

}  // namespace

NumberedRagged::NumberedRagged(MPI_Comm communicator, const Transport& over,
                               const RaggedStorage& storage, Ledger& ledger)
    : communicator_(communicator),
      over_(over),
      storage_(storage),
      channel_(mpi::Channel::open_for_call(communicator)),
      ledger_(ledger) {}

void NumberedRagged::allocate(std::uint64_t sent, std::optional<std::uint64_t> due,
                              const std::optional<Diagnostic>& wrong) {
  count_ = sent;
  gets_ = due.has_value();
  due_ = due.value_or(0);
  const auto take = [&] {
    const auto ranks = static_cast<std::size_t>(channel_.size());
    addresses = Array<Address>(ledger_, static_cast<std::size_t>(sent));
    lengths = LengthRows(ledger_, static_cast<std::size_t>(sent), arenas());
    got_ = LengthRows(ledger_, static_cast<std::size_t>(std::max(count_, due_)), arenas());
    for (Array<std::uint64_t>* const list : {&to_, &from_, &next_})
      *list = Array<std::uint64_t>(ledger_, ranks);
  };
  std::optional<Diagnostic> failed = wrong;
  if (const std::uint64_t most = std::max(count_, due_); !failed && most > detail::most_slots)
    failed = diagnose(ErrorCode::infeasible, "it puts or gets ", most, " blocks, more than the ",
                      detail::most_slots, " of 32 bits; pass them in parts");
  mpi::agree(channel_, failed ? failed : detail::unless_out_of_memory(take, no_lengths));
}

void NumberedRagged::pass_lengths(const std::optional<Diagnostic>& wrong, const std::string& name) {
  for (std::size_t k = 0; k < count_; ++k) lengths.origin(k) = travel_key(channel_.rank(), k);
  got_.copy_from(lengths);
  mpi::agree(channel_, wrong);
  auto options = over_.options_as<Options>();
  options.order = Order::stable;
  options.progress = {};  // which is of the blocks
  options.progress_bar = false;
  {
    Plan plan = plan_to_slots(communicator_, got_.storage(), count_,
                              {addresses.data(), addresses.size()}, options);
    report_ = execute(plan, got_.storage());
    bytes_planning_ = ledger_.current_bytes() + report_.peak_extra_bytes;
  }
  RaggedRoom required{due_, {}};
  std::optional<Diagnostic> failed;
  for (std::size_t a = 0; a < arenas(); ++a) {
    RoomCount room(storage_.fields()[a], detail::most_bytes);
    for (std::size_t k = 0; k < due_; ++k) room.add(got_.length(k, a));
    if (!failed) failed = room.diagnostic(a, name);
    required.bytes.push_back(room.bytes());
  }
  if (!failed && gets_) failed = make_room(storage_, required);
  if (!failed)
    failed = detail::unless_out_of_memory(
        [&] {
          leaving_.emplace(ledger_, static_cast<std::size_t>(count_), channel_.size(),
                           [&](std::size_t k) { return travel_key(addresses[k].rank, k); });
          addresses = {};
          arriving_.emplace(ledger_, static_cast<std::size_t>(due_), channel_.size(),
                            [&](std::size_t k) { return got_.origin(k); });
        },
        no_lengths);
  mpi::agree(channel_, failed);
  frame_.emplace(channel_.again(), over_.options_as<Options>(), "callback progress");
  std::uint64_t bytes = 0;
  for (std::size_t a = 0; a < arenas() + storage_.columns().size(); ++a) {
    bytes += bytes_of(a);
    for (std::size_t k = 0; k < due_; ++k) bytes += length_of(got_, k, a);
  }
  meter_.reset(new observe::ProgressMeter(frame_->progress("junction", bytes, 1)));
  start_ = mpi::now();
}

ragged::Arena NumberedRagged::arena_at(std::size_t arena) const {
  if (arena < arenas()) return ragged::arena_of(storage_.fields()[arena]);
  const Field& column = storage_.columns()[arena - arenas()];
  return {.data = static_cast<std::byte*>(column.data), .row_bytes = column.element_bytes};
}

std::uint64_t NumberedRagged::length_of(LengthRows& rows, std::size_t block,
                                        std::size_t arena) const {
  return arena < arenas() ? rows.length(block, arena) : arena_at(arena).row_bytes;
}

std::uint64_t NumberedRagged::bytes_of(std::size_t arena) {
  std::uint64_t bytes = 0;
  for (std::size_t k = 0; k < count_; ++k) bytes += length_of(lengths, k, arena);
  return bytes;
}

void NumberedRagged::pass(std::size_t arena, const Read& read) {
  const ragged::Arena in_storage = arena_at(arena);
  leaving_->lay_out([&](std::size_t k) { return length_of(lengths, k, arena); },
                    read ? 1 : in_storage.alignment_bytes);
  arriving_->lay_out([&](std::size_t k) { return length_of(got_, k, arena); },
                     in_storage.alignment_bytes);
  for (std::size_t r = 0; r < next_.size(); ++r) next_[r] = arriving_->bytes_before(r);
  const std::uint64_t all = leaving_->end(), budget = over_.options.budget_bytes;
  const std::uint64_t row = std::max<std::uint64_t>(in_storage.row_bytes, 1);
  const std::uint64_t most = read
                                 ? std::max<std::uint64_t>(std::min(budget / 4, all) / row, 1) * row
                                 : std::max<std::uint64_t>(all, 1);
  std::uint64_t rounds = (all + most - 1) / most;
  const std::uint64_t rest = read ? budget / 2 : budget;
  std::int64_t chunk = std::max<std::int64_t>(layout::choose_chunk_elements(rest, 1), 1);
  Array<std::byte> window;
  mpi::Agreement agreement;
  agreement.largest(rounds);
  agreement.least(chunk);
  agreement.run(channel_, detail::unless_out_of_memory(
                              [&] {
                                if (read)
                                  window =
                                      Array<std::byte>(ledger_, static_cast<std::size_t>(most));
                              },
                              layout::out_of_memory));
  std::optional<Diagnostic> wrong;
  for (std::uint64_t round = 0, from = 0; round < rounds; ++round) {
    const std::uint64_t end = std::min(from + most, all);
    if (read && from < end) wrong = read({window.data(), static_cast<std::size_t>(end - from)});
    exchange(read ? window.data() : in_storage.data, from, end, in_storage.data,
             layout::exchange_sizes(rest, 1, chunk), wrong);
    from = end;
  }
}

void NumberedRagged::exchange(const std::byte* memory, std::uint64_t from, std::uint64_t end,
                              std::byte* room, const layout::ExchangeSizes& sizes,
                              const std::optional<Diagnostic>& wrong) {
  for (std::size_t r = 0; r < to_.size(); ++r)
    to_[r] = leaving_->bytes_before(r, end) - leaving_->bytes_before(r, from);
  mpi::exchange_all(channel_, {to_.data(), to_.size()}, {from_.data(), from_.size()});
  const auto make = [&] {
    Vector<layout::ArrayPeer> out(ledger_), in(ledger_);
    const auto add = [](Vector<layout::ArrayPeer>& peers, std::size_t rank, std::uint64_t bytes,
                        std::uint64_t first) {
      if (bytes == 0) return;
      layout::ArrayPeer& peer = peers.emplace_back();
      peer.rank = peer.grid_rank = static_cast<int>(rank);
      peer.elements = static_cast<std::int64_t>(bytes);
      peer.begin = static_cast<std::int64_t>(first);
    };
    for (std::size_t r = 0; r < to_.size(); ++r) {
      add(out, r, to_[r], leaving_->bytes_before(r, from));
      add(in, r, from_[r], next_[r]);
      next_[r] += from_[r];
    }
    return std::make_unique<layout::ArrayExchange<PieceCopies>>(
        frame_->channel, ledger_, sizes,
        layout::ArrayPeers(channel_.rank(), std::move(out), std::move(in)),
        PieceCopies(frame_->channel, *leaving_, memory, from, *arriving_, room),
        frame_->memory->node());
  };
  Report moved;
  run_exchange(channel_, ledger_, wrong, make, moved);
  report_.bytes_sent += moved.bytes_sent;
  report_.messages += moved.messages;
  report_.credits += moved.credits;
}

std::uint64_t NumberedRagged::sum_of(LengthRows& rows, std::uint64_t blocks) {
  constexpr std::uint64_t seeds_per_block = 64;  // more than arenas
  std::uint64_t sum = 0;
  for (std::size_t a = 0; a < arenas() + storage_.columns().size(); ++a) {
    const ragged::Arena arena = arena_at(a);
    const std::byte* data = arena.data;
    for (std::size_t k = 0; k < blocks; ++k) {
      const std::uint64_t length = length_of(rows, k, a);
      sum += XXH3_64bits_withSeed(data, static_cast<std::size_t>(length),
                                  rows.origin(k) * seeds_per_block + a);
      data += ragged::aligned(length, arena.alignment_bytes);
    }
  }
  return sum;
}

void NumberedRagged::verify() {
  std::array<std::uint64_t, 1> difference{sum_of(lengths, count_) - sum_of(got_, due_)};
  mpi::sum(channel_, difference);
  report_.verified = difference[0] == 0;
  if (!report_.verified)
    throw Error(ErrorCode::corrupted,
                "blocks are not what they were when they were put; put them again");
}

Report NumberedRagged::finish() {
  meter_->finish();
  for (std::size_t a = 0; a < arenas() && gets_; ++a) {
    begin_lengths(storage_.fields()[a]);
    for (std::size_t k = 0; k < due_; ++k) write_length(storage_.fields()[a], k, got_.length(k, a));
  }
  report_.peak_extra_bytes =
      std::max<std::uint64_t>(bytes_planning_, ledger_.peak_bytes() + frame_->ledger.peak_bytes());
  // Rows of lengths, addresses and pieces.
  const auto ranks = static_cast<std::uint64_t>(channel_.size());
  const std::uint64_t rows = (count_ + std::max(count_, due_)) * (arenas() + 1);
  report_.extra_bytes_bound =
      std::max(report_.extra_bytes_bound,
               detail::promised_bytes(over_.options.budget_bytes, ranks, ranks, false)) +
      rows * sizeof(std::uint64_t) + 36 * count_ + 20 * due_;
  report_.block_bytes = 0;
  report_.exchange_seconds += mpi::now() - start_;
  report_.waiting_seconds += frame_->observer->waiting_seconds;
  mpi::agree(channel_, frame_->callbacks.diagnostic());
  return report_;
}

}  // namespace valet::junction

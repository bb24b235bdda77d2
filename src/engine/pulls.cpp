// SPDX-License-Identifier: BSD-3-Clause
#include "engine/pulls.hpp"

#include "base/machine_identity.hpp"
#include "mpi/neighbour_words.hpp"
#include <valet/log.hpp>

#include <algorithm>
#include <functional>
#include <new>
#include <numeric>
#include <string>

#if defined(__linux__)
#include <linux/futex.h>

#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace valet::engine {
namespace {

/// Bytes of a copy, on the average of a flow, from which pulls are faster than packing.
constexpr std::uint64_t least_copy_bytes = 2048;
/// A page of 4 KiB takes so much in a page table.
constexpr std::uint64_t page_table_share = 512;
/// After so much it is looked whether a rank sleeps: where ranks share a core, each time that it is
/// woken costs a switch.
constexpr std::uint64_t bytes_to_wake = std::uint64_t{1} << 20;
/// Bytes that leave a rank, or that it gets, from which a plan connects before its first execution:
/// it takes as long as to copy half of it.
constexpr std::uint64_t least_at_once = std::uint64_t{2} << 20;
/// An array of another rank stays mapped for so many plans that make no use of it: a code moves
/// several sets of arrays in turn.
constexpr unsigned plans_unused = 4;
constexpr std::size_t most_slots_at_once = 1024;
/// Answers an offer; others are the address of a DescriptorBox.
constexpr std::uint64_t taken_mark = ~std::uint64_t{0};

using Words = std::span<std::uint64_t>;

template <class Visit>
void for_each_run(SlotList slots, Visit&& visit) {
  for (std::size_t k = 0; k < slots.size();) {
    const std::size_t length = detail::run_length(slots.subspan(k));
    visit(slots[k], static_cast<SlotIndex>(length));
    k += length;
  }
}

void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value,
                 std::chrono::microseconds most) {
#if defined(__linux__)
  const timespec time{.tv_sec = most.count() / 1000000, .tv_nsec = most.count() % 1000000 * 1000};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &time, nullptr, 0);
#endif
}

void wake_all(std::atomic<std::uint32_t>& word) {
#if defined(__linux__)
  syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
#endif
}

}  // namespace

Pulls::Pulls(const plan::State& state)
    : state_(state),
      rows_(state.ledger),
      packed_rows_(state.ledger),
      shared_rows_(state.ledger),
      departures_(state.ledger),
      sources_(state.ledger),
      segments_(state.ledger) {}

Pulls::~Pulls() { disconnect(); }

void Pulls::disconnect() {
  state_.ledger.subtract(std::exchange(counted_bytes_, 0));
  segments_.clear();
  for (Source& source : sources_) source = Source{};
  for (Departure& departure : departures_) departure = Departure{};
  if (!state_.options.keep_memory) storage::MappedSegment::unmap_unused(1);
  control_ = {};
  blocks_offered_ = seen_ = 0;
}

/// In place: an execution that finds everything as it was allocates nothing.
bool Pulls::describe(const StorageBackend& backend, bool again) {
  static std::atomic<std::uint64_t> executions = 0;
  const std::uint64_t execution = again ? 0 : ++executions;
  rows_.clear();
  const plan::Flows& flows = state_.flows;
  const auto moved_blocks = std::max<std::uint64_t>(flows.exports.size(), flows.blocks_arriving);
  const bool is_reachable = backend.reachable_by_host();
  bool all = is_reachable &&
             (again || has_run_ || moved_blocks * state_.blocks.block_bytes >= least_at_once);
  const auto note = [&](std::byte* base, std::ptrdiff_t stride, std::size_t bytes) {
    const auto place = storage::find_in_segments(base, execution);
    all = all && place.has_value();
    if (!all) return;
    const SharedRows row{*place, stride, bytes};
    if (rows_.size() == shared_rows_.size()) shared_rows_.emplace_back();
    SharedRows& known = shared_rows_[rows_.size()];
    connects_ = connects_ || !(known == row);
    known = row;
    rows_.push_back({base, stride, bytes});
  };
  if (is_reachable) backend.visit_rows(std::ref(note));
  if (!all) rows_.clear();
  connects_ = connects_ || shared_rows_.size() != rows_.size();
  shared_rows_.resize(rows_.size());
  packed_rows_.resize(rows_.size());
  if (!rows_.empty() && departures_.empty() && sources_.empty()) {
    departures_.resize(state_.flows.outgoing.size());
    sources_.resize(state_.flows.incoming.size());
  }
  return connects_;
}

/// Decides which flows are worth it, and looks no further where one cannot be any more; returns the
/// number of the runs of those that are.
std::size_t Pulls::list_runs() {
  std::uint64_t pieces_of_runs = 0, pieces_of_blocks = 0;  // of a run, or of each block
  for (const detail::Rows& rows : rows_) ++(rows.are_dense() ? pieces_of_runs : pieces_of_blocks);
  std::size_t all = 0;
  for (std::size_t f = 0; f < departures_.size(); ++f) {
    const plan::Outgoing& flow = state_.flows.outgoing[f];
    const SlotList slots{state_.flows.exports.begin() + flow.first, flow.count};
    const std::uint64_t most_copies = flow.count * state_.blocks.block_bytes / least_copy_bytes;
    std::uint64_t runs = 0, copies = flow.count * pieces_of_blocks;
    for (std::size_t k = 0; k < slots.size() && copies <= most_copies; ++runs) {
      k += detail::run_length(slots.subspan(k));
      copies += pieces_of_runs;
    }
    departures_[f].is_worth = copies <= most_copies;
    departures_[f].first_run = static_cast<std::uint32_t>(all);
    if (departures_[f].is_worth) all += runs;
  }
  return all;
}

/// Shares the description of what leaves this rank.
void Pulls::offer() {
  if (shared_rows_.empty() || departures_.empty()) return;
  const std::size_t runs = list_runs();
  if (runs == 0) return;
  control_ = storage::SharedMemory::create(sizeof(Header) + departures_.size() * sizeof(Line) +
                                           shared_rows_.size() * sizeof(SharedRows) +
                                           runs * sizeof(SharedRun));
  if (control_.data() == nullptr) return warn_once();
  Header& header = header_of(control_);
  header.lines = departures_.size();
  header.rows = shared_rows_.size();
  new (&header.sleeps) std::atomic<std::uint32_t>(0);
  std::uninitialized_value_construct_n(lines_of(control_), departures_.size());
  const std::span<SharedRows> rows = rows_of(control_);
  std::uninitialized_copy(shared_rows_.begin(), shared_rows_.end(), rows.data());
  auto* next = reinterpret_cast<SharedRun*>(rows.data() + rows.size());
  for (std::size_t f = 0; f < departures_.size(); ++f) {
    const plan::Outgoing& flow = state_.flows.outgoing[f];
    if (departures_[f].is_worth)
      for_each_run({state_.flows.exports.begin() + flow.first, flow.count},
                   [&](SlotIndex first, SlotIndex count) {
                     new (next++) SharedRun{first, count};
                   });
  }
}

std::byte* Pulls::memory_of(const Source& source, const storage::NodeSegmentHandle& segment) const {
  std::size_t k = source.segments;
  while (segments_[k].handle() != segment) ++k;
  return segments_[k].data();
}

/// Maps what another rank offers, unless its rows are not those of this rank: then fields are laid
/// out differently, and blocks are packed.
/// @param passed  Descriptors that it has passed: of its control memory, and of each segment.
/// @return False where it is out of reach.
bool Pulls::reach(Source& source, const Offer& offer,
                  std::span<storage::FileDescriptor> passed) try {
  using storage::FileDescriptor;
  std::size_t next = 0;
  const auto descriptor_of = [&](std::uint64_t process, std::uint64_t number, bool writes) {
    if (passed.empty()) return FileDescriptor::of_process(process, number, writes);
    return next < passed.size() ? std::move(passed[next++]) : FileDescriptor();
  };
  const storage::SharedMemoryHandle control{offer[1], offer[2], offer[3], offer[4]};
  source.control = storage::SharedMemory::open(
      control, descriptor_of(control.process, control.descriptor, true));
  if (source.control.data() == nullptr) return false;
  source.segments = static_cast<std::uint32_t>(segments_.size());
  const SourceRows rows = rows_of(source.control);
  if (!std::ranges::equal(rows, shared_rows_, {}, &SharedRows::bytes, &SharedRows::bytes))
    return true;
  for (const SharedRows& row : rows) {
    const storage::NodeSegmentHandle& handle = row.place.segment;
    const auto known = segments_.begin() + source.segments;
    if (std::find_if(known, segments_.end(), [&](const auto& mapped) {
          return mapped.handle() == handle;
        }) != segments_.end())
      continue;
    storage::MappedSegment mapped = storage::MappedSegment::find(handle);
    if (mapped.data() == nullptr || !passed.empty()) {
      const FileDescriptor descriptor = descriptor_of(handle.process, handle.descriptor, false);
      if (mapped.data() == nullptr) mapped = storage::MappedSegment::open(handle, descriptor);
    }
    if (mapped.data() == nullptr) return false;
    segments_.push_back(std::move(mapped));
  }
  source.runs = reinterpret_cast<const SharedRun*>(rows.data() + rows.size()) + offer[6];
  source.line = lines_of(source.control) + offer[5];
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

/// Passes the descriptors that another rank cannot open; true where it gets them.
bool Pulls::pass_descriptors(std::uint64_t address) const {
  std::array<int, storage::DescriptorBox::most> numbers{};
  std::size_t count = 0;
  numbers[count++] = static_cast<int>(control_.handle().descriptor);
  for (const SharedRows& row : shared_rows_) {
    const auto number = static_cast<int>(row.place.segment.descriptor);
    if (std::find(&numbers[1], &numbers[count], number) != &numbers[count]) continue;
    if (count == numbers.size()) return false;
    numbers[count++] = number;
  }
  return storage::DescriptorBox::send(address, std::span(numbers).first(count));
}

/// Tells each rank what it can take, or once more those that have asked for descriptors.
void Pulls::exchange_offers(bool again) {
  const plan::Flows& flows = state_.flows;
  const std::uint64_t machine = shared_rows_.empty() ? 0 : boot_identity();
  const storage::SharedMemoryHandle own = control_.handle();
  mpi::exchange_words(
      state_.channel, state_.ledger, mpi::tag_node, std::tuple_size_v<Offer>,
      std::span(flows.outgoing), std::span(flows.incoming),
      [&](const auto& flow) { return !again || asks(flow); },
      [&](const plan::Outgoing& flow, Words words) {
        const std::size_t f = number_of(flow);
        Offer offer{};
        if (own.bytes > 0 && departures_[f].is_worth &&
            (!again || pass_descriptors(departures_[f].address)))
          offer = {machine,
                   own.bytes,
                   own.process,
                   own.descriptor,
                   own.key,
                   f,
                   departures_[f].first_run};
        std::ranges::copy(offer, words.begin());
      },
      [&](const plan::Incoming& flow, Words words) {
        if (machine == 0 || words[0] != machine) return;
        Offer offer{};
        std::ranges::copy(words, offer.begin());
        accept(sources_[number_of(flow)], offer);
      });
}

void Pulls::accept(Source& source, const Offer& offer) {
  std::array<storage::FileDescriptor, storage::DescriptorBox::most> passed;
  storage::DescriptorBox box = std::move(source.box);
  const std::size_t count = box.address() > 0 ? box.receive(passed) : 0;
  const bool is_reached = reach(source, offer, std::span(passed).first(count));
  if (source.line == nullptr) source = Source{};
  if (is_reached) return;
  // Who cannot open descriptors asks for them, once.
  if (box.address() == 0)
    box = storage::DescriptorBox::make();
  else
    warn_once();
  source.box = std::move(box);
}

/// Tells each rank whether this one takes its blocks, or where to send descriptors.
void Pulls::exchange_answers(bool again) {
  mpi::exchange_words(
      state_.channel, state_.ledger, mpi::tag_node, 1, std::span(state_.flows.incoming),
      std::span(state_.flows.outgoing), [&](const auto& flow) { return !again || asks(flow); },
      [&](const plan::Incoming& flow, Words words) {
        const std::size_t f = number_of(flow);
        words[0] = takes(f) ? taken_mark : asks(flow) && !again ? sources_[f].box.address() : 0;
      },
      [&](const plan::Outgoing& flow, Words words) {
        if (words[0] == 0) return;
        Departure& departure = departures_[number_of(flow)];
        departure.is_taken = words[0] == taken_mark;
        departure.address = departure.is_taken ? 0 : words[0];
        if (departure.is_taken) blocks_offered_ += flow.count;
      });
  if (again)
    for (Source& source : sources_) source.box = {};
}

void Pulls::connect() {
  connects_ = false;
  disconnect();
  offer();
  exchange_offers(false);
  exchange_answers(false);
  const auto is_unfinished = [&](const auto& flow) { return asks(flow); };
  if (std::ranges::any_of(state_.flows.outgoing, is_unfinished) ||
      std::ranges::any_of(state_.flows.incoming, is_unfinished)) {
    exchange_offers(true);
    exchange_answers(true);
  }
  control_.close();
  storage::MappedSegment::unmap_unused(plans_unused);
  counted_bytes_ = control_.size() + storage::MappedSegment::mapped_bytes() / page_table_share;
  state_.ledger.add(counted_bytes_);
}

void Pulls::meet() {
  const auto takes_any = [](const Source& source) { return source.line != nullptr; };
  if (blocks_offered_ == 0 && std::ranges::none_of(sources_, takes_any)) return;
  mpi::exchange_words(
      state_.channel, state_.ledger, mpi::tag_node, 1, std::span(state_.flows.outgoing),
      std::span(state_.flows.incoming), [&](const auto& flow) { return goes_straight(flow); },
      [](const plan::Outgoing&, Words words) { words[0] = 0; },
      [](const plan::Incoming&, Words) {});
}

void Pulls::warn_once() const {
  static std::atomic<bool> warned = false;
  if (warned.exchange(true)) return;
  const int rank = state_.channel.rank();
  log(LogLevel::warning, rank,
      "rank " + std::to_string(rank) +
          " cannot reach the node memory of another rank, so their blocks go as messages, as from "
          "ordinary memory; let processes open each other's /proc/<pid>/fd (containers: one user "
          "and one namespace of processes or of networks) and have files in memory (ulimit -f and "
          "-v)");
}

std::uint64_t Pulls::bytes() const {
  return counted_bytes_ + sources_.size() * sizeof(Source) +
         departures_.size() * sizeof(Departure) + segments_.capacity() * sizeof(segments_[0]) +
         rows_.capacity() * (2 * sizeof(detail::Rows) + 2 * sizeof(SharedRows));
}

void Pulls::start() {
  has_run_ = true;
  seen_ = 0;
  for (Source& source : sources_) {
    source.run = source.runs;
    source.passed = 0;
  }
}

void Pulls::finish() {
  wake();
  for (std::size_t f = 0; f < departures_.size(); ++f)
    if (is_taken(f)) departures_[f].taken_before += state_.flows.outgoing[f].count;
}

std::uint64_t Pulls::taken() const {
  std::uint64_t blocks = 0;
  for (std::size_t f = 0; f < departures_.size(); ++f)
    if (is_taken(f)) blocks += taken(f);
  return blocks;
}

bool Pulls::look() {
  const std::uint64_t now = are_left() ? taken() : seen_;
  return std::exchange(seen_, now) != now;
}

void Pulls::take(std::size_t flow, SlotList to, std::span<const detail::Rows> target) {
  Source& source = sources_[flow];
  std::array<SlotIndex, most_slots_at_once> slots;
  for (std::size_t listed = 0; listed < to.size();) {
    const auto count = static_cast<SlotIndex>(
        std::min<std::size_t>(to.size() - listed, source.run->count - source.passed));
    std::iota(slots.begin() + static_cast<std::ptrdiff_t>(listed),
              slots.begin() + static_cast<std::ptrdiff_t>(listed + count),
              source.run->first + source.passed);
    listed += count;
    source.passed += count;
    if (source.passed < source.run->count) continue;
    ++source.run;
    source.passed = 0;
  }
  const SourceRows rows = rows_of(source.control);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    std::byte* const base = memory_of(source, rows[k].place.segment) + rows[k].place.offset_bytes;
    detail::copy_between({base, rows[k].slot_stride_bytes, rows[k].bytes}, target[k],
                         SlotList(slots).first(to.size()), to, state_.blocks.block_bytes);
  }
  source.taken += to.size();
  source.line->taken.store(source.taken, std::memory_order_release);
  source.unwoken_bytes += to.size() * state_.blocks.block_bytes;
  if (source.unwoken_bytes >= bytes_to_wake) wake(source);
}

void Pulls::take(std::size_t flow, std::uint64_t count, std::byte* packed) {
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    packed_rows_[k] = {packed, static_cast<std::ptrdiff_t>(state_.blocks.block_bytes),
                       rows_[k].bytes};
    packed += rows_[k].bytes;
  }
  std::array<SlotIndex, most_slots_at_once> numbers;
  std::iota(numbers.begin(), numbers.end(), SlotIndex{0});
  take(flow, SlotList(numbers).first(count), packed_rows_);
}

/// The rank that sleeps has said so before it looked, and this one looks after it has told.
void Pulls::wake(Source& source) {
  source.unwoken_bytes = 0;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::atomic<std::uint32_t>& sleeps = source.header().sleeps;
  if (sleeps.load(std::memory_order_relaxed) != 0 && sleeps.exchange(0) != 0) wake_all(sleeps);
}

void Pulls::wake() {
  for (Source& source : sources_)
    if (source.unwoken_bytes > 0) wake(source);
}

void Pulls::sleep(std::chrono::microseconds most) {
  std::atomic<std::uint32_t>& sleeps = header_of(control_).sleeps;
  sleeps.store(1);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (taken() == seen_) sleep_while(sleeps, 1, most);
  sleeps.store(0);
}

}  // namespace valet::engine

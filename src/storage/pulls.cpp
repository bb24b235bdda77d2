// SPDX-License-Identifier: BSD-3-Clause
#include "storage/pulls.hpp"

#include "base/machine_identity.hpp"
#include "mpi/neighbour_words.hpp"

#include <algorithm>
#include <array>

namespace valet::storage {

Pulls::~Pulls() { ledger_.subtract(control_.size()); }

void Pulls::offer(const StorageBackend& backend, std::size_t leaving,
                  std::span<const SlotIndex> exports) {
  std::vector<RowsInSegment> rows;
  bool all = true;
  backend.visit_rows([&](std::byte* base, std::ptrdiff_t stride, std::size_t bytes) {
    rows_.push_back({base, stride, bytes});
    const auto place = find_in_segments(base);
    all = all && place;
    if (place) rows.push_back({place->segment, place->offset_bytes, stride, bytes});
  });
  own_rows_ = rows_.size();
  if (!all || rows.empty() || leaving == 0) return;
  const std::size_t bytes = (1 + leaving) * sizeof(Line) + rows.size() * sizeof(RowsInSegment) +
                            exports.size() * sizeof(SlotIndex);
  control_ = SharedMemory::create(bytes);
  if (control_.data() == nullptr) return;
  ledger_.add(control_.size());
  auto* const header = reinterpret_cast<Header*>(control_.data());
  header->lines = leaving;
  header->rows = rows.size();
  header->exports = exports.size();
  for (std::size_t f = 0; f < leaving; ++f) new (&lines_of(control_.data())[f]) Line{};
  RowsInSegment* const list = rows_in(control_.data(), leaving);
  std::copy(rows.begin(), rows.end(), list);
  std::copy(exports.begin(), exports.end(), reinterpret_cast<SlotIndex*>(list + rows.size()));
}

const std::byte* Pulls::reach(const NodeSegmentHandle& handle) {
  for (const MappedSegment& segment : segments_)
    if (segment.handle() == handle) return segment.data();
  MappedSegment segment = MappedSegment::open(handle);
  if (segment.data() == nullptr) return nullptr;
  segments_.push_back(std::move(segment));
  return segments_.back().data();
}

bool Pulls::reach(Source& source, const SharedMemoryHandle& handle, std::size_t flow,
                  SlotIndex first) {
  source.control = SharedMemory::open(handle);
  std::byte* const control = source.control.data();
  if (control == nullptr) return false;
  const auto& header = *reinterpret_cast<const Header*>(control);
  if (header.rows != own_rows_) return false;
  const RowsInSegment* const rows = rows_in(control, header.lines);
  source.first_row = rows_.size();
  for (std::size_t k = 0; k < own_rows_; ++k) {
    const std::byte* const segment =
        rows[k].bytes == rows_[k].bytes ? reach(rows[k].segment) : nullptr;
    if (segment == nullptr) return false;
    rows_.push_back({const_cast<std::byte*>(segment) + rows[k].offset_bytes,
                     rows[k].slot_stride_bytes, rows[k].bytes});
  }
  source.exports = reinterpret_cast<const SlotIndex*>(rows + header.rows) + first;
  source.taken = &lines_of(control)[flow];
  return true;
}

void Pulls::connect(const mpi::Channel& channel, const StorageBackend& backend,
                    std::span<const PullFlow> leaving, std::span<const SlotIndex> exports,
                    std::span<const PullFlow> arriving) {
  block_bytes_ = backend.block_bytes();
  taken_from_.assign(leaving.size(), 0);
  sources_.resize(arriving.size());
  offer(backend, leaving.size(), exports);
  using Words = std::span<std::uint64_t>;
  const std::uint64_t machine = own_rows_ > 0 ? machine_identity() : 0;
  const SharedMemoryHandle own = control_.handle();
  const std::array<std::uint64_t, 5> words{machine, own.bytes, own.process, own.descriptor, own.key};
  const auto seven = [](const PullFlow&) { return std::uint64_t{7}; };
  const auto one = [](const PullFlow&) { return std::uint64_t{1}; };
  const auto offered = [&](const PullFlow& flow, std::uint64_t first, Words out) {
    const std::array<std::uint64_t, 7> all{words[0], words[1], words[2], words[3], words[4],
                                           static_cast<std::uint64_t>(&flow - leaving.data()),
                                           flow.first};
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
  };
  const auto take = [&](const PullFlow& flow, std::uint64_t, Words in) {
    if (machine == 0 || in[0] != machine || in[1] == 0) return;
    Source& source = sources_[static_cast<std::size_t>(&flow - arriving.data())];
    if (!reach(source, {in[1], in[2], in[3], in[4]}, in[5], static_cast<SlotIndex>(in[6])))
      source = Source{};
  };
  mpi::NeighbourWords(channel, ledger_, mpi::tag_node, 7,
                      mpi::PeerWords{leaving, mpi::no_peer, seven, offered},
                      mpi::PeerWords{arriving, mpi::no_peer, seven, take})
      .run();
  mpi::NeighbourWords(
      channel, ledger_, mpi::tag_node, 1,
      mpi::PeerWords{arriving, mpi::no_peer, one,
                     [&](const PullFlow& flow, std::uint64_t, Words out) {
                       out[0] = takes(static_cast<std::size_t>(&flow - arriving.data())) ? 1 : 0;
                     }},
      mpi::PeerWords{leaving, mpi::no_peer, one,
                     [&](const PullFlow& flow, std::uint64_t, Words in) {
                       taken_from_[static_cast<std::size_t>(&flow - leaving.data())] =
                           static_cast<std::uint8_t>(in[0]);
                     }})
      .run();
  control_.close();
  any_ = std::ranges::any_of(taken_from_, [](std::uint8_t is) { return is != 0; }) ||
         std::ranges::any_of(sources_, [](const Source& source) { return source.taken != nullptr; });
}

namespace {
bool is_run(SlotList slots) {
  if (slots.empty() || slots.back() - slots.front() != slots.size() - 1) return false;
  SlotIndex differences = 0;
  for (std::size_t k = 0; k < slots.size(); ++k)
    differences |= slots[k] - slots.front() - static_cast<SlotIndex>(k);
  return differences == 0;
}
}  // namespace

void Pulls::copy(std::size_t arriving, std::uint64_t first, SlotList to) const {
  const Source& source = sources_[arriving];
  const SlotList from(source.exports + first, to.size());
  const bool runs = is_run(from) && is_run(to);
  for (std::size_t k = 0; k < own_rows_; ++k) {
    const detail::Rows &theirs = rows_[source.first_row + k], &mine = rows_[k];
    if (runs && theirs.slot_stride_bytes == static_cast<std::ptrdiff_t>(theirs.bytes) &&
        mine.slot_stride_bytes == theirs.slot_stride_bytes) {
      std::memcpy(mine.at(to.front()), theirs.at(from.front()), to.size() * mine.bytes);
      continue;
    }
    detail::copy_rows(theirs, mine, from, to, block_bytes_);
  }
}

void Pulls::pack(std::size_t arriving, std::uint64_t first, std::uint64_t count,
                 std::byte* packed) const {
  const Source& source = sources_[arriving];
  const SlotList from(source.exports + first, static_cast<std::size_t>(count));
  std::size_t offset = 0;
  for (std::size_t k = 0; k < own_rows_; ++k) {
    const detail::Rows& theirs = rows_[source.first_row + k];
    detail::gather_rows(theirs, from, from.size(),
                        detail::Packed<std::byte>{packed + offset, block_bytes_});
    offset += theirs.bytes;
  }
}

}  // namespace valet::storage

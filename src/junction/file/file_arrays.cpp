// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "geometry/shared_objects.hpp"
#include "junction/exchange.hpp"
#include "junction/file/file_transfers.hpp"
#include "mpi/agreement.hpp"
#include "operations/layout/layout_call.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>

namespace valet::junction {
namespace {

/// Elements of a cell of the grid that wrote the file.
struct CellRun {
  int cell = 0;
  std::int64_t first = 0, end = 0;
};

/// What is put or got, checked as an operation checks it.
class FileArray : public layout::LayoutCall {
 public:
  FileArray(call::Frame& whole, const FileEnd& end, const Description& what)
      : LayoutCall(whole, "file", *what.grid, *what.grid,
                   static_cast<std::size_t>(what.element_bytes), end.options_as<LayoutOptions>()) {}

  template <class Pointer>
  void check(layout::GridSide& side, const LocalArray<Pointer>& array) {
    auto wrong = check_grids();
    if (!wrong) wrong = check_array(side, array);
    if (!wrong && element_bytes > options.budget_bytes / 8)
      wrong = diagnose(ErrorCode::budget_too_small, "the budget of ", options.budget_bytes,
                       " bytes does not hold elements of ", element_bytes,
                       " bytes on their way to or from the file; set budget_bytes to ",
                       mpi::at_least_enough);
    agree(wrong, 8 * static_cast<std::uint64_t>(element_bytes), nullptr);
  }
  /// Whether the elements of a cell lie one after the other, as in the file.
  [[nodiscard]] static bool is_contiguous(const layout::ArrayCell& cell, const BlockCyclic& layout,
                                          IndexOrder own, IndexOrder in_file) {
    const bool has_one_order = layout.dimensions() == 1 || own == in_file;
    return has_one_order &&
           cell.strides == layout::strides_of({}, layout.local_extents(cell.grid_rank), in_file);
  }
  /// Bytes that tell what a cell shares with others: lists of them grow.
  [[nodiscard]] static std::uint64_t described_bytes(const BlockCyclic& mine, int cell,
                                                     const BlockCyclic& theirs) {
    return sizeof(layout::ArrayCell) + 4 * bytes_of_cell(mine, cell, theirs, true);
  }
  void count_described(const layout::GridSide& side, const BlockCyclic& theirs) {
    side.for_each_cell(
        [&](int cell) { described += described_bytes(side.layout(), cell, theirs); });
  }
  [[nodiscard]] Array<std::uint64_t> bytes_of_cells(const BlockCyclic& layout) {
    Array<std::uint64_t> bytes;
    mpi::agree(channel, detail::unless_out_of_memory(
                            [&] {
                              bytes = Array<std::uint64_t>(
                                  frame.ledger, static_cast<std::size_t>(layout.ranks()));
                            },
                            layout::out_of_memory));
    for (int g = 0; g < layout.ranks(); ++g)
      bytes[static_cast<std::size_t>(g)] =
          static_cast<std::uint64_t>(layout.local_elements(g)) * element_bytes;
    return bytes;
  }

  std::uint64_t described = 0;  ///< of all cells
};

class ArrayStore : public FileArray {
 public:
  using FileArray::FileArray;

  void run(FileEnd& end, const Description& what, const SourceArray& array) {
    check(from, array);
    count_described(from, from.layout());
    const IndexOrder order = (*all)->source_order.value_or(IndexOrder::row_major);
    Array<std::byte> packed;
    std::uint64_t staging = 0;
    auto wrong = staging_bytes(end, element_bytes, staging);
    auto failed = detail::unless_out_of_memory(
        [&] {
          sent = find_cells(from, from.layout(), array);
          packed = Array<std::byte>(frame.ledger, static_cast<std::size_t>(staging));
        },
        layout::out_of_memory);
    mpi::agree(channel, wrong ? wrong : failed);
    std::array<file::SectionContent, 1> content{
        {{element_bytes, bytes_of_cells(from.layout()), {}}}};
    const layout::ArrayCopies copies(channel, element_bytes, sent, received, order);
    for (std::size_t c = 0; c < sent.size(); ++c) {
      const layout::ArrayCell& cell = sent[c];
      content[0].own.push_back(
          {static_cast<std::size_t>(cell.grid_rank),
           is_contiguous(cell, from.layout(), array.order, order) ? cell.data : nullptr,
           [&, c](std::uint64_t first, std::span<std::byte> room) {
             copies.copy_out({static_cast<int>(c),
                              {sent[c].grid_rank, static_cast<std::int64_t>(first),
                               static_cast<std::int64_t>(room.size() / element_bytes)}},
                             room.data());
           }});
    }
    end.append({what, {}, {}, order}, content, {packed.data(), packed.size()});
  }
};

class ArrayLoad : public FileArray {
 public:
  ArrayLoad(call::Frame& whole, FileEnd& end, const Description& what)
      : FileArray(whole, end, what),
        end_(end),
        record_(end.next(what)),
        written_(record_.description.grid->layout),
        order_(record_.order),
        starts_(whole.ledger) {}

  void run(const TargetArray& array) {
    check_record();
    check(to, array);
    std::uint64_t staging = 0;
    auto wrong = staging_bytes(end_, element_bytes, staging, 4);
    auto failed = detail::unless_out_of_memory(
        [&] {
          received = find_cells(to, written_, array);
          staging_ = Array<std::byte>(frame.ledger, static_cast<std::size_t>(staging));
          starts_.reserve(static_cast<std::size_t>(written_.ranks()) + 1);
        },
        layout::out_of_memory);
    mpi::agree(channel, wrong ? wrong : failed);
    std::int64_t start = 0;
    for (int g = 0; g < written_.ranks(); ++g) {
      starts_.push_back(start);
      start += written_.local_elements(g);
    }
    starts_.push_back(start);
    count_described(to, written_);
    for_each_cell({0, bound(channel.rank()), bound(channel.rank() + 1)}, [&](const CellRun& run) {
      described += described_bytes(written_, run.cell, to.layout());
    });
    parts_ = bytes_of_cells(written_);
    const bool is_own = written_ == to.layout();
    const std::int64_t elements =
        is_own ? to.elements() : bound(channel.rank() + 1) - bound(channel.rank());
    observe::ProgressMeter meter =
        end_.progress(static_cast<std::uint64_t>(elements), element_bytes);
    if (is_own)
      read_own_cells(array.order, meter);
    else
      read_through_windows(meter);
    meter.finish();
  }

 private:
  void check_record() const {
    std::optional<Diagnostic> wrong;
    const Description& put = record_.description;
    if (put.element_bytes != element_bytes)
      wrong = diagnose(ErrorCode::block_size_mismatch, "the elements of ", FileEnd::name_of(put),
                       " have ", put.element_bytes, " bytes in the file and ", element_bytes,
                       " bytes where they are got; give both the same type");
    else if (!(written_.extents() == to.layout().extents()))
      wrong = invalid(FileEnd::name_of(put), " has ", layout::shape_text(written_.extents()),
                      " elements in the file and ", layout::shape_text(to.layout().extents()),
                      " where it is got; give the extents of the whole array");
    mpi::agree(channel, wrong);
  }
  /// For elements by their places in the file.
  [[nodiscard]] file::RowsReader reader(std::int64_t first, std::int64_t end,
                                        observe::ProgressMeter& meter) {
    return {end_.reader().file(),
            {record_.sections.front(), {parts_.data(), parts_.size()}, &meter},
            static_cast<std::uint64_t>(first),
            static_cast<std::uint64_t>(end - first),
            {staging_.data(), staging_.size()},
            FileEnd::name_of(record_.description)};
  }

  /// The layout is the one that was written: each cell is where it was.
  void read_own_cells(IndexOrder own_order, observe::ProgressMeter& meter) {
    const layout::ArrayCopies copies(channel, element_bytes, sent, received, order_);
    std::optional<Diagnostic> wrong;
    for (std::size_t c = 0; c < received.size() && !wrong; ++c) {
      const layout::ArrayCell& cell = received[c];
      const auto g = static_cast<std::size_t>(cell.grid_rank);
      const bool is_direct = is_contiguous(cell, to.layout(), own_order, order_);
      const auto unpack = [&](std::uint64_t first, std::span<const std::byte> packed) {
        copies.copy_in({static_cast<int>(c),
                        {cell.grid_rank, static_cast<std::int64_t>(first),
                         static_cast<std::int64_t>(packed.size() / element_bytes)}},
                       packed.data());
      };
      wrong =
          reader(starts_[g], starts_[g + 1], meter).read({is_direct ? cell.room : nullptr, unpack});
    }
    mpi::agree(channel, wrong);
  }

  /// Every rank reads an equal part of the file, some at a time, and sends it on. Which elements
  /// pass between two ranks follows from the layouts: in a cell of the file, what it shares with
  /// another cell is a sequence that ascends, and a window of it has a run of that sequence.
  void read_through_windows(observe::ProgressMeter& meter) {
    const std::uint64_t quarter = options.budget_bytes / 4;
    struct Sizes {
      std::int64_t window = 0, chunk = 0;
      std::uint64_t rounds = 0;
    } sizes{static_cast<std::int64_t>(quarter / element_bytes),
            std::max<std::int64_t>(layout::choose_chunk_elements(2 * quarter, element_bytes), 1),
            0};
    mpi::Agreement agreement;
    agreement.least(sizes.window);
    agreement.least(sizes.chunk);
    agreement.run(channel, std::nullopt);
    for (int r = 0; r < channel.size(); ++r) {
      const std::int64_t elements = bound(r + 1) - bound(r);
      sizes.rounds = std::max(
          sizes.rounds, static_cast<std::uint64_t>((elements + sizes.window - 1) / sizes.window));
    }
    Array<std::byte> window;
    mpi::agree(channel, detail::unless_out_of_memory(
                            [&] {
                              window = Array<std::byte>(
                                  frame.ledger,
                                  static_cast<std::size_t>(sizes.window) * element_bytes);
                            },
                            layout::out_of_memory));
    const layout::ExchangeSizes exchange =
        layout::exchange_sizes(2 * quarter, element_bytes, sizes.chunk);
    file::RowsReader rows = reader(bound(channel.rank()), bound(channel.rank() + 1), meter);
    for (std::uint64_t round = 0; round < sizes.rounds; ++round)
      pass_on(rows, static_cast<std::int64_t>(round) * sizes.window, sizes.window, window,
              exchange);
  }

  /// One round, in which every rank has its window at that distance from its first element.
  /// Collective; no rank sends before all have ended the round before.
  void pass_on(file::RowsReader& rows, std::int64_t distance, std::int64_t elements,
               Array<std::byte>& window, const layout::ExchangeSizes& sizes) {
    const CellRun own = window_of(channel.rank(), distance, elements);
    const auto wrong =
        rows.read(static_cast<std::uint64_t>(own.end - own.first), {window.data(), {}});
    const auto make = [&] {
      Vector<layout::ArrayPeer> leaving(frame.ledger), arriving(frame.ledger);
      list_leaving(own, window, leaving);
      for (int r = 0; r < channel.size(); ++r)
        list_arriving(r, window_of(r, distance, elements), arriving);
      return std::make_unique<layout::ArrayExchange<>>(
          channel, frame.ledger, sizes,
          layout::ArrayPeers(channel.rank(), std::move(leaving), std::move(arriving)),
          layout::ArrayCopies(channel, element_bytes, sent, received, order_),
          frame.memory->node());
    };
    Report ignored;
    run_exchange(channel, frame.ledger, wrong, make, ignored);
  }

  /// Where a rank begins to read.
  [[nodiscard]] std::int64_t bound(int rank) const {
    return layout::balanced_bound(starts_.back(), rank, channel.size());
  }
  /// Elements by their places in the file.
  [[nodiscard]] CellRun window_of(int rank, std::int64_t distance, std::int64_t elements) const {
    const std::int64_t end = bound(rank + 1);
    const std::int64_t first = std::min(bound(rank) + distance, end);
    return {0, first, std::min(first + elements, end)};
  }
  /// Calls action(CellRun) for what a window has of each cell.
  template <class Action>
  void for_each_cell(const CellRun& window, Action&& action) const {
    auto g = static_cast<std::size_t>(
        std::upper_bound(starts_.begin(), starts_.end(), window.first) - starts_.begin() - 1);
    for (; g + 1 < starts_.size() && starts_[g] < window.end; ++g) {
      const std::int64_t first = std::max(window.first, starts_[g]) - starts_[g],
                         end = std::min(window.end, starts_[g + 1]) - starts_[g];
      if (first < end) action(CellRun{static_cast<int>(g), first, end});
    }
  }
  /// A run of what a cell of the file shares with another cell.
  struct Shared {
    std::int64_t first, elements;
  };
  /// @param peer  As `shared` numbers the other cell.
  [[nodiscard]] Shared shared_of(const layout::Intersection& shared, int peer,
                                 const CellRun& run) const {
    const BlockCyclic::Extents extents = written_.local_extents(run.cell);
    const auto before = [&](std::int64_t element) {
      return shared.elements_before(
          peer, order_,
          written_.global_indices(run.cell, layout::indices_of(extents, element, order_)));
    };
    const std::int64_t size = starts_[static_cast<std::size_t>(run.cell) + 1] -
                              starts_[static_cast<std::size_t>(run.cell)];
    const std::int64_t first = before(run.first);
    return {first, (run.end == size ? shared.elements(peer) : before(run.end)) - first};
  }
  void list_leaving(const CellRun& window, const Array<std::byte>& memory,
                    Vector<layout::ArrayPeer>& leaving) {
    // The window before has ended in the last of its cells, where this one often begins.
    if (sent.size() > 1) sent.erase(sent.begin(), sent.end() - 1);
    for_each_cell(window, [&](const CellRun& run) {
      if (sent.empty() || sent.back().grid_rank != run.cell)
        sent.push_back(
            {run.cell, layout::Intersection(frame.ledger, written_, run.cell, to.layout()),
             layout::strides_of({}, written_.local_extents(run.cell), order_), nullptr, nullptr});
      layout::ArrayCell& cell = sent.back();
      // Its first element would be there, in front of the window, which has others.
      const std::int64_t before = starts_[static_cast<std::size_t>(run.cell)] - window.first;
      cell.data = memory.data() + before * static_cast<std::int64_t>(element_bytes);
      for (int n = cell.shared.next_peer(0); n < to.layout().ranks();
           n = cell.shared.next_peer(n + 1)) {
        const Shared shared = shared_of(cell.shared, n, run);
        if (shared.elements > 0)
          leaving.push_back({.rank = to.communicator_rank(n),
                             .grid_rank = n,
                             .cell = static_cast<int>(sent.size()) - 1,
                             .elements = shared.elements,
                             .begin = shared.first});
      }
    });
  }
  void list_arriving(int rank, const CellRun& window, Vector<layout::ArrayPeer>& arriving) const {
    for_each_cell(window, [&](const CellRun& run) {
      for (std::size_t c = 0; c < received.size(); ++c) {
        if (received[c].shared.elements(run.cell) == 0) continue;
        const Shared shared = shared_of(received[c].shared, run.cell, run);
        if (shared.elements > 0)
          arriving.push_back({.rank = rank,
                              .grid_rank = run.cell,
                              .cell = static_cast<int>(c),
                              .elements = shared.elements,
                              .begin = shared.first});
      }
    });
  }

  FileEnd& end_;
  const file::Record& record_;
  const BlockCyclic& written_;
  IndexOrder order_;             ///< of the elements in the file
  Vector<std::int64_t> starts_;  ///< of the cells in the file, in elements; and the end
  Array<std::uint64_t> parts_;
  Array<std::byte> staging_;
};

/// A call with a frame of its own.
template <class Move>
Report run_call(FileEnd& end, Move&& move) {
  call::Frame frame(end.channel().again(), end.options_as<LayoutOptions>(), "callback progress");
  return move(frame);
}

}  // namespace

Report store_array(FileEnd& end, const Description& what, const SourceArray& array) {
  return run_call(end, [&](call::Frame& frame) {
    ArrayStore store(frame, end, what);
    store.run(end, what, array);
    const auto elements = static_cast<std::uint64_t>(store.from.elements());
    return end.report(frame.ledger, what.element_bytes,
                      static_cast<std::uint64_t>(what.grid->layout.ranks()), elements, elements,
                      store.described);
  });
}

Report load_array(FileEnd& end, const Description& what, const TargetArray& array) {
  return run_call(end, [&](call::Frame& frame) {
    ArrayLoad load(frame, end, what);
    load.run(array);
    return end.report(frame.ledger, what.element_bytes,
                      static_cast<std::uint64_t>(what.grid->layout.ranks()), 0,
                      static_cast<std::uint64_t>(load.to.elements()), load.described);
  });
}

}  // namespace valet::junction

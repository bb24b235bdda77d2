// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Options of a redistribution, and the names of their values.

#include <valet/detail/cxx20.hpp>
#include <valet/export.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace valet {

struct Progress;

/// How the exchange is scheduled. All methods leave the same bytes in every occupied slot.
enum class Method {
  /// Valet chooses, and Report::reason says why: STREAM, but DIRECT for a layout in place if the
  /// budget of every rank holds all that leaves and arrives.
  automatic = 4,
  stream = 0,  ///< receivers grant credits, senders stream; bounded by the budget, never deadlocks
  direct,      ///< everything at once through full buffers; only if these fit the budget
  phased,      ///< in phases that bring no rank more blocks than its free memory holds
  cyclic,      ///< a root schedules cycles and shifts; the ranks carry them out among themselves
};

/// Method::phased: how a receiver divides its free memory among the ranks that have blocks for it,
/// its sources (Pinar and Hendrickson, "Interprocessor Communication with Limited Memory", IEEE
/// TPDS 15(7), 2004, section 6.1; continuous: section 4). All but min_max and continuous serve one
/// source at a time, each completely while memory lasts.
enum class Heuristic {
  first_fit,      ///< sources in list order
  max_first,      ///< the source with the most blocks left
  random,         ///< each source with the same probability
  fortune_wheel,  ///< with a probability proportional to the blocks that a source has left
  min_max,        ///< minimises the most blocks left at any source
  continuous,     ///< equal pieces of every transfer, in as few phases as the memory permits
};

/// Method::phased: who decides what moves in a phase.
enum class Scheduler {
  distributed,  ///< every receiver; rank 0 only helps with parking and Heuristic::continuous
  centralized,  ///< rank 0, from the gathered matrix, which must fit its budget; for further
                ///< executions of a plan every rank keeps its part, where that is short
};

/// Method::cyclic: the order in which a rank offers its edges (the ranks that it has blocks for) to
/// the root.
enum class EdgeOrder {
  ascending,  ///< by destination, as published: an even transpose takes 2P-3 steps, because it
              ///< becomes 2-cycles in dictionary order, in which most ranks wait for each other
  rotated,    ///< by destination, starting after this rank: an even transpose becomes P-1 rotations
};

/// Which slots the blocks of a map to ranks get. In all three orders they end in the first slots of
/// the rank.
enum class Order {
  /// Valet chooses, so that hardly any block is copied twice: an arrival takes a slot that another
  /// block has just left. Resident blocks keep their slots, except those above the final count. The
  /// slots depend on the map, the bytes of a block and the number of ranks, but not on budget,
  /// method or timing. Takes 8 bytes per slot if a quarter of the budget holds the blocks that wait
  /// for their slots, otherwise 16. Waiting blocks take a few times 32 KiB per neighbour, or 128
  /// KiB if a block has 4 KiB or more, and up to 512 KiB if departing blocks are in runs of 64 KiB
  /// or more.
  any,
  fill,    ///< resident blocks keep their slots, arrivals fill the lowest holes: few copies
  stable,  ///< resident blocks, then arrivals by (source rank, old slot), packed from slot 0
};

/// What rank -1 in a map says of its block. Other numbers that are no ranks are always errors.
enum class NegativeRank {
  refuse,  ///< a mistake: rank_out_of_range
  drop,    ///< it is deleted: its slot is as free as others; Report::blocks_dropped counts it.
           ///< Later calls take the new number of blocks, Report::blocks_after: with the old one
           ///< they would move what free slots hold, which nobody can tell from blocks
};

/// Options of Method::stream.
struct StreamOptions {
  /// Most outstanding data messages in each direction, 1 to 64.
  int window = 32;
};

/// Options of Method::phased. The free memory of a rank is its free slots and its scratch, in
/// blocks.
struct PhasedOptions {
  /// How a receiver divides its free memory among its sources.
  Heuristic heuristic = Heuristic::fortune_wheel;
  /// Who decides what moves in a phase.
  Scheduler scheduler = Scheduler::distributed;
  /// Parking in every k-th phase, 0 for never: blocks of ranks short of memory wait on ranks that
  /// have more than they need, which saves phases; rank 0 matches them. Any rank may then exchange
  /// blocks with any other: its lists of all ranks, about 512 bytes per rank, come out of the
  /// budget unless the job is small, a few dozen ranks at most.
  int parking = 0;
  /// Seed of Heuristic::random and fortune_wheel.
  std::uint64_t seed = 1;
  /// If set, called on every rank at the beginning of each of its phases: returns the bytes that
  /// blocks may fill on this rank in this phase. Valet uses no more than the free memory, and at
  /// least one block. Set it on all ranks or on none; not with Heuristic::continuous, which divides
  /// all transfers by the memory at the beginning. Must not communicate or touch the storage. If it
  /// throws, it is not called again, all free memory is used, and the call throws callback_failed
  /// at the end.
  std::function<std::size_t()> available_bytes = {};
};

/// Options of Method::cyclic.
struct CyclicOptions {
  /// Order in which a rank offers its destinations to the root.
  EdgeOrder edge_order = EdgeOrder::ascending;
};

/// Options of a redistribution; options of a single method are in the member named after it.
/// Budgets, message_bytes, keep_memory, windows, available_bytes, edge_order, progress callbacks
/// and bars may differ between ranks; the rest must be the same on all ranks.
struct Options {
  /// Scratch for blocks in transit on this rank, in bytes; at least one block.
  std::size_t budget_bytes = std::size_t{4} << 20;
  /// How the exchange is scheduled.
  Method method = Method::automatic;
  /// Which slots the blocks of a map to ranks get.
  Order order = Order::any;
  /// What rank -1 says, in a map of blocks or an address; for objects behind functions
  /// (migrate_objects()) and in repair() it is always a mistake.
  NegativeRank negative_rank = NegativeRank::refuse;
  /// Compares checksums of every block before and after, end to end; costs two passes over the
  /// data.
  bool verify = false;
  /// Most bytes of a data message; 0 lets Valet choose from the budget and the block size.
  std::size_t message_bytes = 0;
  /// Ranks of a node move blocks through shared memory, half of the budget, instead of messages. If
  /// the system does not let processes share memory, they use messages. Blocks in arrays of
  /// node_array() need neither.
  bool share_memory = true;
  /// The communicator keeps memory shared inside a node, scratch of up to 4 MiB, and buffers of
  /// all-to-all and layouts for the next plan or call, which counts them as its own: mapping memory
  /// takes longer than moving as much data. It is freed with the communicator, or by a call that is
  /// not to keep it or has a smaller budget. Ranks may differ.
  bool keep_memory = true;
  StreamOptions stream = {};  ///< used if Valet or the user chooses this method
  PhasedOptions phased = {};  ///< likewise
  CyclicOptions cyclic = {};  ///< likewise
  /// File for a trace of what every rank did and when, in Chrome trace events (for
  /// ui.perfetto.dev): the plan and its first execution; each further execution replaces it. Empty
  /// on all ranks or on none; the path of rank 0 is used. Takes 24 KiB beyond the memory bound, and
  /// if these do not suffice a temporary file per rank in $TMPDIR. The file is replaced as a whole;
  /// if it cannot be written, Valet logs a warning.
  std::string trace = {};
  /// File for the matrix of transfers: the blocks that each rank has sent to each other one, in the
  /// Matrix Market format, which valet-plan and others read; with the room, the budget and the peak
  /// of extra memory of every rank as comments. Of the last execution that succeeded. Empty on all
  /// ranks or on none; the path of rank 0 is used, and its lines pass through rank 0. Not the
  /// file of `trace`. Takes 4 KiB on the stack, whatever the number of ranks. The file is replaced
  /// as a whole; if it cannot be written, Valet logs a warning.
  std::string transfers = {};
  /// Called while blocks leave and arrive, at most ten times a second, and when all have. Must not
  /// communicate or touch the storage. If it throws, it is not called again, and the call throws
  /// callback_failed after all blocks are in place. Ranks may differ.
  std::function<void(const Progress&)> progress = {};
  /// Rank 0 draws a progress bar on standard error, if that is a terminal, during an exchange that
  /// takes more than two seconds.
  bool progress_bar = true;
};

/// The name of a method as parse_method() reads it, for example "stream". Local.
VALET_EXPORT const char* to_string(Method method) noexcept;
/// The name of an order, "any", "fill" or "stable". Local.
VALET_EXPORT const char* to_string(Order order) noexcept;
/// The name, "refuse" or "drop". Local.
VALET_EXPORT const char* to_string(NegativeRank choice) noexcept;
/// The name of a scheduler, "distributed" or "centralized". Local.
VALET_EXPORT const char* to_string(Scheduler scheduler) noexcept;
/// The name of a heuristic, for example "first_fit". Local.
VALET_EXPORT const char* to_string(Heuristic heuristic) noexcept;
/// The name of an edge order, "ascending" or "rotated". Local.
VALET_EXPORT const char* to_string(EdgeOrder order) noexcept;
/// All heuristics, in the order of the enumeration. Local.
VALET_EXPORT std::span<const Heuristic> all_heuristics() noexcept;

/// The method with this name, such as "stream", in upper or lower case; "auto" means automatic.
/// Local.
/// @throws Error invalid_argument, listing the known names.
VALET_EXPORT Method parse_method(std::string_view name);
/// The order named "any", "fill" or "stable". Local. @throws Error invalid_argument.
VALET_EXPORT Order parse_order(std::string_view name);
/// The scheduler named "distributed" or "centralized". Local. @throws Error invalid_argument.
VALET_EXPORT Scheduler parse_scheduler(std::string_view name);
/// The heuristic with this name, in upper or lower case. Local.
/// @throws Error invalid_argument, listing the known names.
VALET_EXPORT Heuristic parse_heuristic(std::string_view name);
/// The edge order named "ascending" or "rotated". Local. @throws Error invalid_argument.
VALET_EXPORT EdgeOrder parse_edge_order(std::string_view name);
/// Parses a number of bytes such as "4M": digits, optionally followed by K, M or G (powers of
/// 1024), also written KiB, MiB and GiB. Local.
/// @throws Error invalid_argument.
VALET_EXPORT std::size_t parse_bytes(std::string_view text);

}  // namespace valet

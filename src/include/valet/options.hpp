// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the user decides about a redistribution, and the names of the choices.

#include <valet/cost_model.hpp>
#include <valet/export.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace valet {

struct Progress;

/// How the exchange is scheduled. All methods end with the same bytes in every occupied slot.
enum class Method {
  /// STREAM or DIRECT, whichever is predicted to be faster within the budget: by what moving data
  /// costs on these ranks (AutomaticOptions::model) and what the map asks for. Report::reason says
  /// why.
  automatic = 4,
  stream = 0,  ///< receivers credit, senders stream; bounded by the budget, never stuck
  direct,      ///< everything at once through full buffers; only where those fit the budget
  phased,      ///< in phases, none of which brings a rank more blocks than it has free memory for
  cyclic,      ///< a root schedules cycles and shifts, which the ranks carry out without it
};

/// Method::phased: how a receiver divides its free memory among those who have blocks for it (Pinar
/// and Hendrickson, "Interprocessor Communication with Limited Memory", IEEE TPDS 15(7), 2004,
/// section 6.1; the last one section 4). All but min_max and continuous serve one source at a time,
/// each with all it has while memory lasts.
enum class Heuristic {
  first_fit,      ///< in the order of the list
  max_first,      ///< the source with the most left
  random,         ///< each with the same probability
  fortune_wheel,  ///< with a probability proportional to what it has left
  min_max,        ///< so that the most that is left for any source becomes as small as possible
  continuous,     ///< equal pieces of every transfer, in as few phases as memory could do
};

/// Method::phased: who decides what moves in a phase.
enum class Scheduler {
  distributed,  ///< every receiver, by telling its sources; the root is asked for parking only
  centralized,  ///< rank 0, from the gathered matrix, which must fit the budget there
};

/// Method::cyclic: in which order a rank offers its edges, the ranks that it has blocks for, to the
/// root.
enum class EdgeOrder {
  ascending,  ///< by destination, as published: an even transpose takes 2P-3 steps, because it
              ///< becomes 2-cycles in dictionary order, most of whose ranks wait for each other
  rotated,    ///< by destination, beginning behind one's own rank: an even transpose becomes P-1
              ///< rotations
};

/// Method::automatic: what it predicts times from.
using schedule::CostModel;
using schedule::parse_cost_model;

/// Which slots the blocks of a map to ranks get.
///
/// All three end with the blocks in the first slots of the rank.
enum class Order {
  /// Valet chooses, so that hardly any block is copied twice: an arrival takes the slot that a
  /// block has just left. The slots depend on the map, the bytes of a block and the number of
  /// ranks, and not on budget, method or timing. Resident blocks keep their slots, but for those
  /// above the final count. 8 bytes a slot in place of 12 (32-bit indices) where a quarter of the
  /// budget has room for the blocks that wait: a few times 32 KiB for each neighbour, or 128 KiB
  /// where a block has 4 KiB or more, and up to 512 KiB where what leaves stands in runs of 64 KiB
  /// or more.
  any,
  fill,    ///< resident blocks keep their slots, arrivals fill the lowest holes: few copies
  stable,  ///< resident blocks, then arrivals by (source rank, old slot), packed from slot 0
};

/// Options of Method::automatic.
struct AutomaticOptions {
  /// What moving data costs. Without it the environment variable VALET_MODEL says so
  /// (parse_cost_model()), or it is measured once per communicator, in some milliseconds. Ranks
  /// that differ take the largest of each number, so that all choose alike.
  std::optional<CostModel> model = {};
};

/// Options of Method::stream.
struct StreamOptions {
  /// Data messages that may be outstanding in either direction at once, 1 to 64.
  int window = 32;
};

/// Options of Method::phased. Free memory of a rank: its free slots and its scratch, in blocks.
struct PhasedOptions {
  /// How a receiver divides its free memory among its sources.
  Heuristic heuristic = Heuristic::fortune_wheel;
  /// Who decides what moves in a phase.
  Scheduler scheduler = Scheduler::distributed;
  /// Parking at every k-th phase: blocks of ranks that are short of memory wait on ranks that have
  /// more than they need, so that fewer phases do; rank 0 matches them. 0 for never. Any rank may
  /// then have to do with any other: lists of all ranks, 512 bytes each beyond about 48 ranks, come
  /// off the budget.
  int parking = 0;
  /// For Heuristic::random and fortune_wheel.
  std::uint64_t seed = 1;
  /// Asked on every rank at the beginning of each of its phases, if it is set: bytes that blocks
  /// may fill on this rank in this phase. No more than the free memory is used, and at least one
  /// block; set on all ranks or on none. Not with Heuristic::continuous, which cuts all transfers
  /// by the memory of the beginning. Must not communicate or touch the storage. If it throws it is
  /// not asked again, all free memory counts, and the call throws callback_failed in the end.
  std::function<std::size_t()> available_bytes = {};
};

/// Options of Method::cyclic.
struct CyclicOptions {
  /// In which order a rank offers its destinations to the root.
  EdgeOrder edge_order = EdgeOrder::ascending;
};

/// What the user decides about a redistribution; what one method alone looks at stands in the part
/// named after it. Ranks may give different budgets, messages, windows, available_bytes,
/// edge_order, models, progress and bars; the rest must be the same on all ranks.
struct Options {
  /// Scratch in bytes that this rank may use for blocks in transit; at least one block.
  std::size_t budget_bytes = std::size_t{4} << 20;
  /// How the exchange is scheduled.
  Method method = Method::automatic;
  /// Which slots the blocks of a map to ranks get.
  Order order = Order::any;
  /// Compare checksums of every block before and after, end to end; costs two passes over the data.
  bool verify = false;
  /// Bytes of one data message at most; 0 lets Valet choose from the budget and the block size.
  std::size_t message_bytes = 0;
  /// Ranks of one node move blocks through memory they share, half of the budget, in place of
  /// messages; where the system does not let processes share memory they fall back to messages.
  bool share_memory = true;
  /// Memory shared inside a node, and scratch of up to 4 MiB, are kept with the communicator, for
  /// the next plan or call, which counts them as its own: to map them takes longer than to move as
  /// much. All-to-all and layouts keep their buffers, too. They are freed with the communicator, or
  /// by what is not to keep them, or has a smaller budget. Ranks may differ.
  bool keep_memory = true;
  AutomaticOptions automatic = {};  ///< where Valet chooses the method
  StreamOptions stream = {};        ///< chosen by name or by Valet
  PhasedOptions phased = {};        ///< likewise
  CyclicOptions cyclic = {};        ///< likewise
  /// A file that gets what every rank did and when, as Chrome trace events for ui.perfetto.dev: the
  /// plan and its first execution, then each execution anew. Empty on all ranks or on none; the
  /// path of rank 0 counts. It takes 24 KiB beyond what is promised without, and a temporary file
  /// of each rank in $TMPDIR where that is not enough. The file is there as a whole or as it was
  /// before: one that cannot be written is a warning.
  std::string trace = {};
  /// Told while blocks leave and arrive, ten times a second at most, and when all have. Must not
  /// communicate or touch the storage. If it throws it is not called again, and the call throws
  /// callback_failed when all blocks are where they belong. Ranks may differ.
  std::function<void(const Progress&)> progress = {};
  /// Whether rank 0 draws a bar on standard error during an exchange of more than two seconds,
  /// where that is a terminal.
  bool progress_bar = true;
};

/// The name of a method as parse_method() knows it, for example "stream". Local.
VALET_EXPORT const char* to_string(Method method) noexcept;
/// The name of an order, "any", "fill" or "stable". Local.
VALET_EXPORT const char* to_string(Order order) noexcept;
/// The name of a scheduler, "distributed" or "centralized". Local.
VALET_EXPORT const char* to_string(Scheduler scheduler) noexcept;
/// The name of a heuristic, for example "first_fit". Local.
VALET_EXPORT const char* to_string(Heuristic heuristic) noexcept;
/// The name of an edge order, "ascending" or "rotated". Local.
VALET_EXPORT const char* to_string(EdgeOrder order) noexcept;
/// All heuristics, in the order of the enumeration. Local.
VALET_EXPORT std::span<const Heuristic> all_heuristics() noexcept;

/// The method of a name such as "stream", in upper or lower case; "auto" is short for automatic.
/// @throws Error invalid_argument that lists the known names. Local.
VALET_EXPORT Method parse_method(std::string_view name);
/// The order of a name, "any", "fill" or "stable". @throws Error invalid_argument. Local.
VALET_EXPORT Order parse_order(std::string_view name);
/// The scheduler of a name, "distributed" or "centralized". @throws Error invalid_argument. Local.
VALET_EXPORT Scheduler parse_scheduler(std::string_view name);
/// The heuristic of a name, in upper or lower case.
/// @throws Error invalid_argument that lists the known names. Local.
VALET_EXPORT Heuristic parse_heuristic(std::string_view name);
/// The edge order of a name, "ascending" or "rotated". @throws Error invalid_argument. Local.
VALET_EXPORT EdgeOrder parse_edge_order(std::string_view name);
/// A number of bytes such as "4M": digits, then nothing, K, M or G (powers of 1024).
/// @throws Error invalid_argument. Local.
VALET_EXPORT std::size_t parse_bytes(std::string_view text);

}  // namespace valet

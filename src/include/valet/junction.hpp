// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Data between two jobs, or two groups of ranks, each of which knows its own layout only.

#include <valet/block_storage.hpp>
#include <valet/error.hpp>
#include <valet/export.hpp>
#include <valet/mpi.hpp>
#include <valet/object_layout.hpp>
#include <valet/options.hpp>
#include <valet/ragged_storage.hpp>
#include <valet/redistribute.hpp>
#include <valet/report.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace valet {

/// @cond
namespace junction {
class Transfer;
class Transport;
}  // namespace junction
/// @endcond

/// Options of a junction. `verify`, `share_memory` and `timeout_seconds` are the same on all ranks
/// of both sides: connect() and accept() compare them.
struct JunctionOptions {
  /// Where separately started jobs find each other, by files that both see. Files of a run that was
  /// killed do no harm. Only rank 0 uses it.
  std::string folder = ".";
  /// How long to wait for the other side, when meeting it and whenever nothing else goes on; then
  /// it is taken for dead. Longer than what a job computes between two transfers; 0: for ever.
  double timeout_seconds = 600;
  /// As Options::budget_bytes, on this rank. [local]
  std::size_t budget_bytes = std::size_t{4} << 20;
  /// Compares checksums of what was put and what was got, over the elements by their global
  /// indices, or over blocks as Options::verify.
  bool verify = false;
  /// As Options::share_memory.
  bool share_memory = true;
  /// As Options::keep_memory.
  bool keep_memory = true;
  /// As Options::progress, or LayoutOptions::progress for arrays. For a file, of what this rank
  /// writes or reads; where blocks go on by a layout, then of these. [local]
  std::function<void(const Progress&)> progress = {};
  /// As Options::progress_bar. [local]
  bool progress_bar = true;
};

/// Something in a file.
struct JunctionRecord {
  /// What it is.
  enum class Kind : std::uint8_t { array, blocks, numbered_blocks, ragged_blocks };
  /// @cond
  struct Field {
    std::string label;            ///< as it was put
    std::uint64_t row_bytes = 0;  ///< bytes of a block in this field
  };                              /// @endcond

  std::string label;                  ///< as it was put
  Kind kind = Kind::blocks;           ///< how it was put
  std::uint64_t count = 0;            ///< blocks, or elements
  std::uint64_t bytes = 0;            ///< of all of them in the file
  std::vector<Field> fields;          ///< of blocks of one size: label and row_bytes of each
  std::vector<std::int64_t> extents;  ///< of an array
};

/// Consecutive blocks of a file, by their places there: by source rank and slot, whichever layout
/// they were put in.
struct BlockRange {
  std::uint64_t first = 0;  ///< the first one
  std::uint64_t count = 0;  ///< how many
};

/// Something that is put or got, from then on until wait(). Move-only; the destructor waits, and
/// logs what wait() would throw. The junction may be destroyed before, which waits as well.
class VALET_EXPORT JunctionTransfer {
 public:
  /// Moves a transfer; the source can only be destroyed afterwards.
  JunctionTransfer(JunctionTransfer&& other) noexcept;
  JunctionTransfer(const JunctionTransfer&) = delete;
  JunctionTransfer& operator=(const JunctionTransfer&) = delete;
  ~JunctionTransfer();

  /// Whether all ranks of both sides have called for this transfer and those before it are over:
  /// then wait() takes as long as the data. Also where wait() would throw because the other side
  /// has not come within the timeout. There is no thread; data travel in wait(). Local, and may
  /// differ between ranks.
  [[nodiscard]] bool is_ready();
  /// Ends this transfer and those before it. Collective over both sides; blocking. Once only.
  /// @return Counts elements as blocks for arrays.
  /// @throws Error as Junction says; invalid_argument on this rank if it was waited for.
  Report wait();

 private:
  friend class Junction;
  JunctionTransfer(std::shared_ptr<junction::Transport> link,
                   std::shared_ptr<junction::Transfer> transfer);

  std::shared_ptr<junction::Transport> link_;
  std::shared_ptr<junction::Transfer> transfer_;
};

/// A connection between two groups of ranks, over which each puts and gets distributed arrays and
/// blocks while it knows nothing of the other's layout: a producer on M ranks and a consumer on N
/// (C. Foyer, A. Tate, S. McIntosh-Smith, "ASPEN: An Efficient Algorithm for Data Redistribution
/// Between Producer and Consumer Grids", section 3).
///
/// What one side puts the other gets, in the same order. Each describes its own part of it; the
/// descriptions cross once for each label, then every rank computes what it shares with whom. Data
/// go directly from rank to rank, in pieces that a budget bounds. A producer with several consumers
/// has a junction for each.
///
/// Errors are the same on all ranks of both sides, and nothing has moved: invalid_argument (both
/// put, other labels, extents, element sizes, kinds of data), and those of redistribute(),
/// plan_to_ranks(), plan_to_slots() and execute(). corrupted with JunctionOptions::verify.
/// mpi_failure where the other side does not answer within the timeout: the junction cannot be used
/// any more, and what was being got is unspecified; what was put is as it was,
/// but for blocks of different sizes to ranks. Other errors leave
/// the junction as it was.
///
/// Memory on each rank: budget + 64 KiB + 256*neighbours + 64*(M+N) bytes, and for the descriptions
/// 16 KiB and 32 bytes for each rank or cell that a layout lists and each of its cuts; for blocks
/// what their plan takes, and for numbered blocks of different sizes 72 bytes for each and 16 for
/// each of its arenas.
class VALET_EXPORT Junction {
 public:
  /// Opens a port and waits for another job that calls connect() with the same name. One of the two
  /// sides accepts, it does not matter which; a producer with several consumers calls this once for
  /// each of them.
  ///
  /// With Open MPI 4 `ompi-server` has to run, and both jobs are started by
  /// `mpirun --ompi-server file:...`; with MPICH nothing is needed, but it
  /// has no ports where it is made with UCX.
  ///
  /// Collective over `communicator`; blocking.
  ///
  /// @param communicator  The ranks of this side, an intracommunicator. [local]
  /// @param name          Of the connection, a file name; the same on all ranks of both sides.
  /// @param options       What follows uses them.
  /// @throws Error invalid_argument (the name, the folder), mpi_failure (nobody came in time, MPI
  ///         has no port): the same on all ranks of this side.
  [[nodiscard]] static Junction accept(MPI_Comm communicator, const std::string& name,
                                       const JunctionOptions& options = {});
  /// Waits for a port of that name and connects to it. Or, over an intercommunicator, makes a
  /// junction of its two groups: both call this, and the name only serves errors. Collective over
  /// `communicator`; blocking.
  /// @param communicator  The ranks of this side, or an intercommunicator, which may be freed
  ///                      afterwards. [local]
  /// @param name, options  As for accept().
  /// @throws Error as accept().
  [[nodiscard]] static Junction connect(MPI_Comm communicator, const std::string& name,
                                        const JunctionOptions& options = {});
  /// Creates a file. What is put is written, and can be got by any number of ranks in any other
  /// layout, as from another job. The file gets its name when close() has written all of it: until
  /// then what had the name stays there, also where the job is killed.
  ///
  /// Every rank writes its own part as it is, by MPI-IO; nothing is sent. Errors are the same on
  /// all ranks: file_failure (the disk is full, the folder is missing) and callback_failed leave
  /// nothing in the file, whose old version stays. Memory of each rank: budget + 64 KiB + 64*P
  /// bytes, 8 for each cell of a grid.
  ///
  /// Collective over `communicator`; blocking.
  /// @param communicator  An intracommunicator, which must live until the file is closed.
  /// @param path          The same on all ranks.
  /// @param options       Only budget_bytes counts, and for numbered blocks that are got what
  ///                      plan_to_slots() has of the others. A file always has checksums.
  /// @throws Error file_failure, invalid_argument: the same on all ranks.
  [[nodiscard]] static Junction create(MPI_Comm communicator, const std::string& path,
                                       const JunctionOptions& options = {});
  /// Opens a file to get what was put, in any order: get() takes the first record of its label and
  /// kind that was not got. Blocks and numbered blocks are one kind.
  ///
  /// Everything is compared with its checksums as it is read; after `corrupted` what was being got
  /// is unspecified. Numbered blocks and arrays are read in equal parts, or as many as a rank will
  /// have, and then moved in place, or through windows of a quarter of the budget.
  ///
  /// Collective over `communicator`; blocking.
  /// @param communicator, path, options  As for create().
  /// @throws Error file_failure (no such file, none of Valet, its end is missing, of another order
  ///         of bytes, of a newer version), corrupted (its checksums differ), invalid_argument: the
  ///         same on all ranks.
  [[nodiscard]] static Junction open(MPI_Comm communicator, const std::string& path,
                                     const JunctionOptions& options = {});
  /// What is in a file that is read; nothing otherwise. Local.
  [[nodiscard]] std::vector<JunctionRecord> records() const;
  /// Moves a junction; the source can only be destroyed or assigned to.
  Junction(Junction&&) noexcept;
  /// Closes this one and takes over another.
  Junction& operator=(Junction&&) noexcept;
  Junction(const Junction&) = delete;
  Junction& operator=(const Junction&) = delete;
  /// Closes it, but drops a file that is being written; logs what close() would throw.
  ~Junction();

  /// Ranks of this side.
  [[nodiscard]] int ranks() const;
  /// Ranks of the other side, which it numbers from 0; those that wrote a file, 0 of one that is
  /// being written.
  [[nodiscard]] int other_ranks() const;

  // Everything below begins a transfer and returns at once; the memory must stay as it is until
  // JunctionTransfer::wait(). Transfers begin in the order in which they are called for, which is
  // the same on all ranks of a side; one that begins while another is under way comes after it.
  // Collective over this side.

  /// @name Arrays
  /// @{

  /// Puts a distributed array.
  /// @param array          This rank's part by `layout`. [local]
  /// @param layout         The grid of this side; its ranks are those of this side. [of this side]
  /// @param element_bytes  Size of an element. [global]
  /// @param label          Name of the array, the same on both sides.
  JunctionTransfer put(const SourceArray& array, const GridLayout& layout,
                       std::size_t element_bytes, const std::string& label = {});
  /// Gets a distributed array.
  /// @param array          Room for this rank's part by `layout`. [local]
  /// @param layout, element_bytes, label  As for put().
  JunctionTransfer get(const TargetArray& array, const GridLayout& layout,
                       std::size_t element_bytes, const std::string& label = {});
  /// The same of contiguous arrays in row-major order.
  template <class T>
  JunctionTransfer put(std::span<T> values, const GridLayout& layout,
                       const std::string& label = {}) {
    return put(SourceArray{values.data(), values.size_bytes()}, layout, sizeof(T), label);
  }
  /// The same of contiguous arrays in row-major order.
  template <class T>
  JunctionTransfer get(std::span<T> values, const GridLayout& layout,
                       const std::string& label = {}) {
    return get(TargetArray{values.data(), values.size_bytes()}, layout, sizeof(T), label);
  }
  /// @}

  /// @name Blocks
  /// Those that are put stay where they are, too, but for blocks of different sizes to ranks, whose
  /// arenas are used to sort them. Those that are got come into the slots from 0 on;
  /// Report::blocks_after says how many. Where the slots of a storage that does not grow do not
  /// suffice, infeasible says how many would, on both sides, and nothing has moved: both may try
  /// again.
  /// @{

  /// Puts each block to a rank of the other side; blocks come by source rank and slot.
  /// @param storage  The blocks. [local]
  /// @param count    How many, in the first slots. [local]
  /// @param ranks    `count` ranks of the other side. [local]
  JunctionTransfer put(const BlockStorage& storage, std::uint64_t count,
                       std::span<const int> ranks);
  /// Puts blocks into a file, numbered by source rank and slot, under a label by which they are
  /// got.
  JunctionTransfer put(const BlockStorage& storage, std::uint64_t count,
                       const std::string& label = {});
  /// Puts blocks that are numbered by a layout on the ranks of this side.
  JunctionTransfer put(const BlockStorage& storage, std::uint64_t count, const ObjectLayout& layout,
                       const std::string& label = {});
  /// Gets blocks that the other side puts to ranks; from a file an equal share of them, in the
  /// order in which they were put. From a file a storage may have some of the fields only, found by
  /// their labels.
  JunctionTransfer get(const BlockStorage& storage, const std::string& label = {});
  /// Gets these blocks of a file, in the order of their places there. [local]
  JunctionTransfer get(const BlockStorage& storage, const BlockRange& range,
                       const std::string& label = {});
  /// Gets numbered blocks into a layout on the ranks of this side.
  JunctionTransfer get(const BlockStorage& storage, const ObjectLayout& layout,
                       const std::string& label = {});
  /// Gets blocks into a storage that is made when their number is known.
  /// @param storage_for  Called with their number, before with 0 where they come from ranks; gives
  ///                     so many slots at least. May not communicate; may throw for all ranks.
  /// @param label        Name of the blocks.
  JunctionTransfer get(std::function<BlockStorage(std::uint64_t blocks)> storage_for,
                       const std::string& label = {});
  /// Puts blocks of different sizes, which are gone from this side afterwards.
  JunctionTransfer put(const RaggedStorage& storage, std::uint64_t count,
                       std::span<const int> ranks);
  /// Puts blocks of different sizes into a file; they stay as they are.
  JunctionTransfer put(const RaggedStorage& storage, std::uint64_t count,
                       const std::string& label = {});
  /// Puts blocks of different sizes that are numbered by a layout on the ranks of this side; they
  /// stay as they are.
  JunctionTransfer put(const RaggedStorage& storage, std::uint64_t count,
                       const ObjectLayout& layout, const std::string& label = {});
  /// Gets blocks of different sizes into a layout on the ranks of this side, each with its length
  /// and its rows. infeasible says what room is missing, and nothing has moved.
  JunctionTransfer get(const RaggedStorage& storage, const ObjectLayout& layout,
                       const std::string& label = {});
  /// Gets blocks of different sizes; from a file an equal share of them.
  JunctionTransfer get(const RaggedStorage& storage, const std::string& label = {});
  /// Gets these blocks of a file. [local]
  JunctionTransfer get(const RaggedStorage& storage, const BlockRange& range,
                       const std::string& label = {});
  /// @}

  /// Ends all transfers and the connection, or writes the end of a file and gives it its name; what
  /// wait() would throw of a transfer it still throws. Collective over both sides; blocking.
  /// @throws Error mpi_failure; file_failure: the file is not there, and its old version is.
  void close();

  /// @cond
  // For the C interface.
  static Junction over(MPI_Comm intercommunicator, const JunctionOptions& options,
                       const std::optional<Diagnostic>& wrong);
  JunctionTransfer begin(std::shared_ptr<junction::Transfer> transfer);
  /// @endcond

 private:
  explicit Junction(std::shared_ptr<junction::Transport> link);
  [[nodiscard]] junction::Transport& link() const;

  std::shared_ptr<junction::Transport> link_;
};

}  // namespace valet

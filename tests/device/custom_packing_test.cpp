// SPDX-License-Identifier: BSD-3-Clause

// How an application packs the blocks of a custom storage, under Options::verify: what is no part
// of a block's content is no corruption, what is part of it is, and a pack that writes past its
// block is an error of all ranks before anything moves.

#include "test_comm.hpp"

namespace valet::test {
namespace {

constexpr std::array packing_methods{Method::stream, Method::phased, Method::cyclic,
                                     Method::direct};
constexpr std::size_t padded_block_bytes = 16;  ///< a byte, padding, eight bytes

/// What a pack does with the seven bytes of padding.
enum class Padding {
  unwritten,        ///< leaves them as they are in the packed memory
  counted,          ///< one of them is another one in each call
  of_the_rank,      ///< the same in all blocks of a rank, as what is left in a register
  of_the_stack,     ///< what is there where a variable is
  of_the_slot,      ///< copies the slot's, which unpack leaves as it is
  copied_both_ways  ///< copies the slot's, and unpack does
};
constexpr std::array paddings{Padding::unwritten,   Padding::counted,
                              Padding::of_the_rank, Padding::of_the_stack,
                              Padding::of_the_slot, Padding::copied_both_ways};

/// Blocks whose content says where they came from.
class Blocks {
 public:
  static constexpr std::uint64_t slots = 400, count = 250;

  explicit Blocks(Padding padding) : padding_(padding), bytes_(slots * padded_block_bytes) {
    // The padding of a slot is that of its rank, or that of the block where it moves along.
    std::memset(bytes_.data(), 17 * (rank() + 1), bytes_.size());
    for (std::uint64_t slot = 0; slot < count; ++slot) {
      const std::uint64_t number = 1000 * static_cast<std::uint64_t>(rank()) + slot;
      at(slot)[0] = tag_of(number);
      std::memcpy(at(slot) + 8, &number, sizeof number);
      ranks.push_back(static_cast<int>((slot * 2654435761U >> 9) % static_cast<unsigned>(size())));
    }
    functions.pack = [this](SlotSpan list, std::byte* packed) {
      for (std::size_t k = 0; k < list.size(); ++k) pack(list[k], packed + k * padded_block_bytes);
      std::memset(packed + list.size() * padded_block_bytes, 0, overrun);
    };
    functions.unpack = [this](const std::byte* packed, SlotSpan list) {
      for (std::size_t k = 0; k < list.size(); ++k)
        unpack(packed + k * padded_block_bytes, list[k]);
    };
  }

  [[nodiscard]] Outcome migrate(const Options& options) {
    return outcome_of([&] {
      const BlockStorage storage = custom_storage(slots, padded_block_bytes, functions);
      report = valet::migrate(MPI_COMM_WORLD, storage, count, ranks, options);
    });
  }
  /// Blocks whose content is not what it was.
  [[nodiscard]] long long damaged(std::uint64_t blocks) {
    long long damaged = 0;
    for (std::uint64_t slot = 0; slot < blocks; ++slot) {
      std::uint64_t number = 0;
      std::memcpy(&number, at(slot) + 8, sizeof number);
      damaged += at(slot)[0] == tag_of(number) ? 0 : 1;
    }
    return sum_over_ranks(damaged);
  }

  CustomFunctions functions;
  std::vector<int> ranks;
  Report report;
  std::size_t overrun = 0;   ///< bytes that pack writes behind its blocks
  bool forgets_tag = false;  ///< in unpack
  bool changes_top = false;  ///< in unpack, a byte that is zero in all blocks; not in free slots

 private:
  static std::byte tag_of(std::uint64_t number) {
    return static_cast<std::byte>(number * 7 % 100 + number / 1000);
  }
  std::byte* at(std::uint64_t slot) { return bytes_.data() + slot * padded_block_bytes; }
  void pack(std::uint64_t slot, std::byte* to) {
    const std::byte* const from = at(slot);
    if (padding_ == Padding::of_the_slot || padding_ == Padding::copied_both_ways)
      std::memcpy(to, from, padded_block_bytes);
    if (padding_ == Padding::counted) to[3] = static_cast<std::byte>(++calls_);
    if (padding_ == Padding::of_the_rank) std::memset(to + 1, 50 + rank(), 7);
    if (padding_ == Padding::of_the_stack) copy_through_stack(from, to);
    to[0] = from[0];
    std::memcpy(to + 8, from + 8, 8);
  }
  /// As a local struct whose members are assigned; a volatile one stays where it is.
  [[gnu::noinline]] static void copy_through_stack(const std::byte* from, std::byte* to) {
    struct Local {
      char tag;
      double number;
    };
    volatile Local local;  // NOLINT: its padding is what this is about
    local.tag = static_cast<char>(from[0]);
    double number = 0;
    std::memcpy(&number, from + 8, sizeof number);
    local.number = number;
    std::memcpy(to, const_cast<Local*>(&local), sizeof(Local));
  }
  void unpack(const std::byte* from, std::uint64_t slot) {
    const std::byte tag = forgets_tag ? at(slot)[0] : from[0];
    if (padding_ == Padding::copied_both_ways) std::memcpy(at(slot), from, padded_block_bytes);
    at(slot)[0] = tag;
    std::memcpy(at(slot) + 8, from + 8, 8);
    if (changes_top && slot < count) at(slot)[15] = std::byte{1};
  }

  Padding padding_;
  std::vector<std::byte> bytes_;
  unsigned calls_ = 0;
};

Options options_of(Method method, Order order) {
  return {.method = method, .order = order, .verify = true};
}

TEST(Packing, OfPaddingIsNoCorruption) {
  for (const Padding padding : paddings)
    for (const Method method : packing_methods)
      for (const Order order : {Order::any, Order::fill, Order::stable})
        for (const std::size_t budget : {std::size_t{1} << 10, std::size_t{4} << 20}) {
          SCOPED_TRACE("padding " + std::to_string(static_cast<int>(padding)) + ", " +
                       to_string(method) + ", " + to_string(order) + ", budget " +
                       std::to_string(budget));
          Options options = options_of(method, order);
          options.budget_bytes = method == Method::direct ? std::size_t{4} << 20 : budget;
          Blocks blocks(padding);
          const Outcome outcome = blocks.migrate(options);
          EXPECT_TRUE(all_ranks(outcome.code == ErrorCode::success)) << outcome.text;
          if (outcome.code == ErrorCode::budget_too_small) continue;
          EXPECT_TRUE(blocks.report.verified);
          EXPECT_EQ(blocks.damaged(blocks.report.blocks_after), 0);
          expect_within_bound(blocks.report);
        }
}

TEST(Packing, ThatForgetsAMemberIsCorruption) {
  if (size() == 1) return;
  for (const Padding padding : paddings) {
    Blocks blocks(padding);
    blocks.forgets_tag = true;
    const Outcome outcome = blocks.migrate(options_of(Method::stream, Order::fill));
    EXPECT_TRUE(same_on_all_ranks(outcome));
    EXPECT_EQ(outcome.code, ErrorCode::corrupted)
        << static_cast<int>(padding) << ": " << outcome.text;
  }
}

// It is no part of the content only where a block of another rank comes without it.
TEST(Packing, OfAByteThatIsTheSameInAllBlocksIsVerified) {
  if (size() == 1) return;
  for (const Padding padding : paddings) {
    Blocks blocks(padding);
    blocks.changes_top = true;
    const Outcome outcome = blocks.migrate(options_of(Method::stream, Order::fill));
    EXPECT_EQ(outcome.code, ErrorCode::corrupted)
        << static_cast<int>(padding) << ": " << outcome.text;
  }
}

TEST(Packing, PastTheBlockIsAnErrorOfAllRanksBeforeAnythingMoves) {
  for (const Method method : packing_methods)
    for (const std::size_t overrun : {1U, 8U, 30U})
      for (const int where : {0, size() - 1}) {
        Blocks blocks(Padding::unwritten);
        blocks.overrun = rank() == where ? overrun : 0;
        const Outcome outcome = blocks.migrate(options_of(method, Order::any));
        expect_error(outcome, ErrorCode::invalid_argument,
                     {"rank " + std::to_string(where) +
                          ": packing the block in slot 0 writes past its 16 bytes",
                      "nothing has moved"});
        EXPECT_EQ(blocks.damaged(Blocks::count), 0);
      }
}

}  // namespace
}  // namespace valet::test

// SPDX-License-Identifier: BSD-3-Clause

// A bit of a block changes on its way, or one of a length or of a row beside it: Options::verify
// finds it, on all ranks alike, in whichever arena, in whole pages and in what fills none.

#include "ragged_case.hpp"
#include "spoilt_sends.hpp"

namespace valet::test {
namespace {

/// Changes the bits of a word where it is sent next.
void spoil_word(std::uint64_t word, std::uint64_t bits) {
  spoil = [=](std::span<std::byte> sent) {
    for (std::size_t k = 0; k + sizeof word <= sent.size(); ++k) {
      if (std::memcmp(&sent[k], &word, sizeof word) != 0) continue;
      const std::uint64_t changed = word ^ bits;
      std::memcpy(&sent[k], &changed, sizeof changed);
      return true;
    }
    return false;
  };
}

enum class Where { bytes, bytes_of_offsets, length, first_of_lengths, offset, row };

constexpr std::uint64_t mark = 0xFEEDC0DE'12345679;
constexpr std::uint64_t marked_bytes = 40'968;  ///< as long as no other block

/// Two arenas, one of them with offsets, and a column; every block goes to the next rank. The one
/// in the middle is marked.
class Blocks {
 public:
  explicit Blocks(std::size_t count) : marked_(count / 2) {
    ranks_.assign(count, (rank() + 1) % size());
    lengths_.assign(count, 256);
    lengths_[marked_] = marked_bytes;
    offsets_.assign(count + 1, 0);
    for (std::size_t k = 0; k < count; ++k)
      offsets_[k + 1] = offsets_[k] + (k == marked_ ? 320 : 64);
    words_.assign((count - 1) * 32 + padded(marked_bytes, 64) / 8, 1);
    other_words_.assign(offsets_.back() / 8 + 8, 2);  // spare: one may grow
    column_.assign(count, 3);
  }

  /// Marks what shall change. @return What the mark is.
  std::uint64_t mark_at(Where where) {
    words_[marked_ * 32 + 3] = where == Where::bytes ? mark : 1;
    other_words_[marked_ * 8 + 7] = where == Where::bytes_of_offsets ? mark : 2;
    column_[marked_] = where == Where::row ? mark : 3;
    if (where == Where::length || where == Where::first_of_lengths) return marked_bytes;
    return where == Where::offset ? 320 : mark;  // what moves is lengths
  }
  void call(const Options& options) {
    const RaggedField field{.data = words_.data(),
                            .capacity_bytes = words_.size() * 8,
                            .lengths = lengths_.data(),
                            .block_capacity = lengths_.size(),
                            .alignment_bytes = 8,
                            .are_offsets = false,
                            .label = {}};
    const RaggedField other{.data = other_words_.data(),
                            .capacity_bytes = other_words_.size() * 8,
                            .lengths = offsets_.data(),
                            .block_capacity = offsets_.size() - 1,
                            .alignment_bytes = 8,
                            .are_offsets = true,
                            .label = {}};
    migrate(MPI_COMM_WORLD, RaggedStorage({field, other}, {valet::field(column_)}), ranks_.size(),
            ranks_, options);
  }

 private:
  std::size_t marked_;
  std::vector<int> ranks_;
  std::vector<std::uint64_t> lengths_, offsets_, words_, other_words_, column_;
};

class RaggedVerification : public testing::TestWithParam<std::tuple<Method, std::size_t>> {};

TEST_P(RaggedVerification, FindsWhateverChangesOnTheWay) {
  if (size() == 1) return;
  const auto [method, count] = GetParam();
  Options options{
      .budget_bytes = method == Method::direct ? std::size_t{1} << 24 : std::size_t{100'000},
      .method = method,
      .share_memory = false};
  for (const Where where : {Where::bytes, Where::bytes_of_offsets, Where::length,
                            Where::first_of_lengths, Where::offset, Where::row}) {
    SCOPED_TRACE(static_cast<int>(where));
    // The last bits of a length leave the padded one as it is, the first ones make it huge.
    const std::uint64_t bits = where == Where::first_of_lengths ? std::uint64_t{1} << 62 : 1;
    for (const bool verify : {false, true}) {
      options.verify = verify;
      Blocks blocks(count);
      const std::uint64_t word = blocks.mark_at(where);
      if (rank() == size() - 1) spoil_word(word, bits);
      const Outcome outcome = outcome_of([&] { blocks.call(options); });
      EXPECT_TRUE(all_ranks(!spoil)) << "nothing was spoilt";
      spoil = nullptr;
      expect_error(outcome, verify ? ErrorCode::corrupted : ErrorCode::success, {});
      const std::string expected =
          !verify ? ""
          : where == Where::first_of_lengths
              ? "rank 0: the lengths of blocks are not what they were; restart from"
              : "rank 0: the " + std::to_string(count) + " blocks from rank " +
                    std::to_string(size() - 1) + " are not what that rank sent; restart from";
      expect_words(outcome.text, {expected});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, RaggedVerification,
                         testing::Combine(testing::Values(Method::stream, Method::direct,
                                                          Method::phased, Method::cyclic),
                                          testing::Values(3, 3000)),
                         [](const auto& one) {
                           return std::string(to_string(std::get<0>(one.param))) + "_" +
                                  std::to_string(std::get<1>(one.param));
                         });

}  // namespace
}  // namespace valet::test

// SPDX-License-Identifier: BSD-3-Clause

// Texts on their way to the root.

#include "mpi/root.hpp"

#include "counted_mpi.hpp"
#include "test_comm.hpp"

namespace valet::mpi {
namespace {

using namespace valet::test;

constexpr std::size_t buffer_bytes = 64, piece_bytes = buffer_bytes / 2;

/// The text of a rank: lines that name it, all pieces of different lengths.
std::string line_of(int of_rank, int number) {
  std::string line = std::to_string(of_rank);
  line.append(":").append(std::to_string(number)).append(static_cast<std::size_t>(number % 7), '.');
  return line.append("\n");
}

/// What the root gets where ranks for which that is true have so many lines each.
template <class HasText>
std::vector<std::string> lines_at_root(const Channel& channel, HasText&& has_text, int lines) {
  std::uint64_t texts = 0;
  for (int r = 1; r < channel.size(); ++r) texts += has_text(r) ? 1U : 0U;
  std::array<char, buffer_bytes> buffer{};
  std::function<void(const TakeText&)> produce;
  if (rank() != root && has_text(rank()))
    produce = [&](const TakeText& send) {
      for (int number = 0; number < lines; ++number) send(line_of(rank(), number));
    };
  std::vector<std::string> all;
  send_texts_to_root(channel, texts, buffer, produce, [&](std::span<const char> piece) {
    EXPECT_LE(piece.size(), piece_bytes);
    all.emplace_back(piece.begin(), piece.end());
  });
  PMPI_Barrier(MPI_COMM_WORLD);
  return all;
}

/// Those of one rank, in the order in which they came.
std::vector<std::string> of_rank(const std::vector<std::string>& all, int wanted) {
  std::vector<std::string> lines;
  std::ranges::copy_if(all, std::back_inserter(lines), [&](const std::string& line) {
    return line.starts_with(std::to_string(wanted) + ":");
  });
  return lines;
}

TEST(StreamToRoot, BringsThePiecesOfEachRankInOrder) {
  const Channel channel = Channel::open(MPI_COMM_WORLD);
  constexpr int most_lines = 40;
  for (const int lines : {0, 1, 2, most_lines}) {
    SCOPED_TRACE(lines);
    const auto all = lines_at_root(
        channel, [](int) { return true; }, lines);
    if (rank() != root) continue;
    EXPECT_EQ(all.size(), static_cast<std::size_t>(lines * (size() - 1)));
    for (int r = 1; r < size(); ++r) {
      std::vector<std::string> expected;
      for (int number = 0; number < lines; ++number) expected.push_back(line_of(r, number));
      EXPECT_EQ(of_rank(all, r), expected) << "rank " << r;
    }
  }
}

TEST(StreamToRoot, TakesNoMessageOfRanksWithoutText) {
  const Channel channel = Channel::open(MPI_COMM_WORLD);
  constexpr int lines = 3;
  const auto has_text = [](int r) { return r % 2 == 0; };
  communication = {};
  const auto all = lines_at_root(channel, has_text, lines);
  const bool sends = rank() != root && has_text(rank());
  EXPECT_EQ(communication.all_calls(), sends ? lines + 1 : 0);
  if (rank() != root) return;
  EXPECT_EQ(all.size(), static_cast<std::size_t>((size() - 1) / 2 * lines));
}

/// Rank 1 begins when the text of rank 2 is with the root: it hangs where the root takes one rank
/// after the other.
TEST(StreamToRoot, DoesNotWaitForARankThatIsLate) {
  if (size() < 3) return;
  const Channel channel = Channel::open(MPI_COMM_WORLD);
  constexpr int lines = 5, go = 77;
  std::array<char, buffer_bytes> buffer{};
  std::function<void(const TakeText&)> produce;
  if (rank() == 1 || rank() == 2)
    produce = [&](const TakeText& send) {
      if (rank() == 1) PMPI_Recv(nullptr, 0, MPI_CHAR, root, go, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int number = 0; number < lines; ++number) send(line_of(rank(), number));
    };
  std::vector<std::string> all;
  send_texts_to_root(channel, 2, buffer, produce, [&](std::span<const char> piece) {
    all.emplace_back(piece.begin(), piece.end());
    if (all.size() == lines) PMPI_Send(nullptr, 0, MPI_CHAR, 1, go, MPI_COMM_WORLD);
  });
  if (rank() != root) return;
  EXPECT_EQ(all.size(), 2U * lines);
}

}  // namespace
}  // namespace valet::mpi

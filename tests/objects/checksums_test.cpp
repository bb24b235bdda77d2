// SPDX-License-Identifier: BSD-3-Clause

// The checksums of MIGRATE_VERIFY must be able to fail: for a byte that changed, for objects that
// changed places, for objects and whole sources that are missing or too many.

#include "objects/checksums.hpp"

#include "test_comm.hpp"

namespace valet::objects {
namespace {

using namespace valet::test;

constexpr int bytes = 24;
constexpr std::uint64_t objects = 5;  // from each rank to each
using Object = std::array<std::byte, bytes>;

Object packed(int from, int to, std::uint64_t number) {
  Object object{};
  for (std::size_t k = 0; k < object.size(); ++k)
    object[k] =
        static_cast<std::byte>(static_cast<std::size_t>(100 * from + 10 * to) + 7 * number + k);
  return object;
}

/// What one rank got, as a fault left it.
struct Arrived {
  std::vector<Peer> sources;
  std::vector<std::vector<Object>> objects;  ///< of each source
};

/// Every rank sends every rank objects, and `fault` changes what the last one finds. Collective.
std::optional<Diagnostic> compared(const std::function<void(Arrived&)>& fault) {
  const mpi::Channel channel = mpi::Channel::open(MPI_COMM_WORLD);
  Ledger ledger;
  std::vector<Peer> all;
  for (int peer = 0; peer < size(); ++peer) all.push_back({peer, objects});
  Checksums sent(ledger, all);
  Arrived arrived{all, std::vector<std::vector<Object>>(all.size())};
  for (std::size_t peer = 0; peer < all.size(); ++peer)
    for (std::uint64_t k = 0; k < objects; ++k) {
      sent.add(peer, packed(rank(), all[peer].rank, k).data(), bytes);
      arrived.objects[peer].push_back(packed(all[peer].rank, rank(), k));
    }
  if (rank() == size() - 1) fault(arrived);
  Checksums received(ledger, arrived.sources);
  for (std::size_t source = 0; source < arrived.sources.size(); ++source)
    for (const Object& object : arrived.objects[source]) received.add(source, object.data(), bytes);
  std::optional<Diagnostic> diagnostic = sent.compare(channel, ledger, received);
  MPI_Barrier(MPI_COMM_WORLD);
  return diagnostic;
}

/// Found where it happened, and nowhere else.
void expect_found(const std::function<void(Arrived&)>& fault, const std::string& text) {
  const std::optional<Diagnostic> diagnostic = compared(fault);
  EXPECT_TRUE(all_ranks(diagnostic.has_value() == (rank() == size() - 1)));
  if (!diagnostic) return;
  EXPECT_EQ(diagnostic->code, ErrorCode::corrupted);
  EXPECT_EQ(diagnostic->text, text + "; restart from a checkpoint and report this");
}

TEST(Checksums, AgreeWhereNothingChanged) {
  EXPECT_TRUE(all_ranks(!compared([](Arrived&) {}).has_value()));
}

TEST(Checksums, FindAnyByteThatChanged) {
  const std::string last = std::to_string(size() - 1);
  for (const std::size_t byte : {0, bytes / 2, bytes - 1})
    for (const std::uint64_t object : {std::uint64_t{0}, objects - 1})
      expect_found([&](Arrived& arrived) { arrived.objects.back()[object][byte] ^= std::byte{1}; },
                   "the 5 packed objects of rank " + last + " are not what that rank packed");
}

TEST(Checksums, FindObjectsThatChangedPlaces) {
  expect_found([](Arrived& arrived) { std::swap(arrived.objects[0][1], arrived.objects[0][3]); },
               "the 5 packed objects of rank 0 are not what that rank packed");
}

TEST(Checksums, FindObjectsThatAreMissing) {
  expect_found([](Arrived& arrived) { arrived.objects[0].pop_back(); },
               "rank 0 packed 5 objects for this rank, but 4 arrived");
}

TEST(Checksums, FindSourcesThatAreMissing) {
  // The first, so that others would be taken for it; and the last, behind which there is none.
  expect_found(
      [](Arrived& arrived) {
        arrived.sources.erase(arrived.sources.begin());
        arrived.objects.erase(arrived.objects.begin());
      },
      "rank 0 packed 5 objects for this rank, but 0 arrived");
  expect_found(
      [](Arrived& arrived) {
        arrived.sources.pop_back();
        arrived.objects.pop_back();
      },
      "rank " + std::to_string(size() - 1) + " packed 5 objects for this rank, but 0 arrived");
}

TEST(Checksums, FindSourcesThatPackedNothing) {
  // Behind all that packed something, and in front of them.
  for (const int source : {size(), -1})
    expect_found(
        [source](Arrived& arrived) {
          const auto at = source < 0 ? 0 : static_cast<std::ptrdiff_t>(arrived.sources.size());
          arrived.sources.insert(arrived.sources.begin() + at, {source, 1});
          arrived.objects.insert(arrived.objects.begin() + at, {packed(0, 0, 0)});
        },
        "rank " + std::to_string(source) + " packed 0 objects for this rank, but 1 arrived");
}

}  // namespace
}  // namespace valet::objects

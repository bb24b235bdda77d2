// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/message.hpp"

#include "base/assert.hpp"
#include "mpi/check.hpp"
#include "mpi/wait_limit.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace valet::mpi {
namespace {

/// A committed datatype, freed at the end of its scope: MPI keeps it for pending messages.
class Datatype {
 public:
  explicit Datatype(MPI_Datatype type) : type_(type) {
    check(MPI_Type_commit(&type_), "MPI_Type_commit");
  }
  Datatype(const Datatype&) = delete;
  Datatype& operator=(const Datatype&) = delete;
  ~Datatype() { MPI_Type_free(&type_); }

  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_;
};

/// `bytes` bytes as one element: whole gibibytes, then the rest.
MPI_Datatype large_bytes(std::uint64_t bytes) {
  constexpr int gibibyte = 1 << 30;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  check(MPI_Type_contiguous(gibibyte, MPI_BYTE, &made), "MPI_Type_contiguous");
  const Datatype unit(made);
  const std::array lengths{checked_count(bytes / gibibyte), checked_count(bytes % gibibyte)};
  const std::array displacements{MPI_Aint{0}, static_cast<MPI_Aint>(bytes - bytes % gibibyte)};
  const std::array types{unit.get(), MPI_BYTE};
  check(MPI_Type_create_struct(2, lengths.data(), displacements.data(), types.data(), &made),
        "MPI_Type_create_struct");
  return made;
}

template <class Post>
void with_count(std::uint64_t bytes, Post&& post) {
  if (bytes <= static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    post(static_cast<int>(bytes), MPI_BYTE);
    return;
  }
  const Datatype type(large_bytes(bytes));
  post(1, type.get());
}

/// Whether threads may call MPI at the same time.
bool threads_call_mpi() {
  static const bool multiple = [] {
    int provided = MPI_THREAD_SINGLE;
    check(MPI_Query_thread(&provided), "MPI_Query_thread");
    return provided == MPI_THREAD_MULTIPLE;
  }();
  return multiple;
}

}  // namespace

void post_send(const Channel& channel, const void* memory, std::uint64_t bytes, int destination,
               int tag, MPI_Request& request) {
  VALET_ASSERT(request == MPI_REQUEST_NULL);
  with_count(bytes, [&](int count, MPI_Datatype type) {
    check(MPI_Isend(memory, count, type, destination, tag, channel.get(), &request), "MPI_Isend",
          destination);
  });
}

void post_receive(const Channel& channel, void* memory, std::uint64_t bytes, int source, int tag,
                  MPI_Request& request) {
  VALET_ASSERT(request == MPI_REQUEST_NULL);
  with_count(bytes, [&](int count, MPI_Datatype type) {
    check(MPI_Irecv(memory, count, type, source, tag, channel.get(), &request), "MPI_Irecv",
          source == MPI_ANY_SOURCE ? no_peer : source);
  });
}

void barrier(const Channel& channel) {
  const Waiting waiting(channel.hooks());
  call_blocking(channel, "MPI_Barrier", MPI_Barrier, MPI_Ibarrier, {},
                [&](auto* call, const CallMemory&, auto... request) {
                  return call(channel.get(), request...);
                });
}

void post_barrier(const Channel& channel, MPI_Request& request) {
  VALET_ASSERT(request == MPI_REQUEST_NULL);
  check(MPI_Ibarrier(channel.get(), &request), "MPI_Ibarrier");
}

void post_send_pieces(const Channel& channel, PieceList& list, int destination, int tag,
                      MPI_Request& request) {
  VALET_ASSERT(request == MPI_REQUEST_NULL);
  // A piece may be larger than an int too, so each is a run of at most half a gibibyte.
  constexpr std::size_t longest = std::size_t{1} << 29;
  list.lengths.clear();
  list.displacements.clear();
  for (const MemoryPiece& piece : list.pieces) {
    for (std::size_t done = 0; done < piece.bytes; done += longest) {
      MPI_Aint address = 0;
      check(MPI_Get_address(piece.data + done, &address), "MPI_Get_address");
      list.displacements.push_back(address);
      list.lengths.push_back(checked_count(std::min(longest, piece.bytes - done)));
    }
  }
  MPI_Datatype made = MPI_DATATYPE_NULL;
  check(MPI_Type_create_hindexed(checked_count(list.lengths.size()), list.lengths.data(),
                                 list.displacements.data(), MPI_BYTE, &made),
        "MPI_Type_create_hindexed");
  const Datatype type(made);
  check(MPI_Isend(MPI_BOTTOM, 1, type.get(), destination, tag, channel.get(), &request),
        "MPI_Isend", destination);
}

Requests::Requests(Ledger& ledger, std::size_t count, const Channel& channel)
    : requests_(ledger, count), channel_(channel) {
  std::fill(requests_.begin(), requests_.end(), MPI_REQUEST_NULL);
}

std::optional<Completion> Requests::wait_any() {
  Completion completion;
  int index = MPI_UNDEFINED;
  {
    const Waiting waiting(channel_.hooks());
    const WaitLimit limit(channel_.wait_limit());
    if (limit.is_set() || threads_call_mpi()) {
      while (!test(completion, index)) limit.look_again();
    } else {
      check(MPI_Waitany(checked_count(requests_.size()), requests_.data(), &index,
                        &completion.status),
            "MPI_Waitany");
    }
  }
  return completed(completion, index);
}

void Requests::wait(std::size_t index) {
  if (idle(index)) return;
  const Waiting waiting(channel_.hooks());
  MPI_Status status;
  wait_for(requests_[index], &status, channel_.wait_limit());
  if (channel_.hooks() != nullptr) channel_.hooks()->completed(&requests_[index], status);
}

std::optional<Completion> Requests::test_any() {
  Completion completion;
  int index = MPI_UNDEFINED;
  test(completion, index);
  return completed(completion, index);
}

/// Whether a request has completed, named by `index`, or none is outstanding.
bool Requests::test(Completion& completion, int& index) {
  int flag = 0;
  check(MPI_Testany(checked_count(requests_.size()), requests_.data(), &index, &flag,
                    &completion.status),
        "MPI_Testany");
  if (flag == 0) index = MPI_UNDEFINED;
  return flag != 0;
}

/// The completion of the request at `index`; nothing where MPI names none.
std::optional<Completion> Requests::completed(Completion completion, int index) const {
  if (index == MPI_UNDEFINED) return std::nullopt;
  completion.index = static_cast<std::size_t>(index);
  if (channel_.hooks() != nullptr)
    channel_.hooks()->completed(&requests_[completion.index], completion.status);
  return completion;
}

bool Requests::withdraw(std::size_t index, MPI_Status& status) {
  check(MPI_Cancel(&requests_[index]), "MPI_Cancel");
  wait_for(requests_[index], &status, channel_.wait_limit());
  int cancelled = 0;
  check(MPI_Test_cancelled(&status, &cancelled), "MPI_Test_cancelled");
  return cancelled != 0;
}

}  // namespace valet::mpi

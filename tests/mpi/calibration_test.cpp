// SPDX-License-Identifier: BSD-3-Clause

// What moving data costs is measured in some milliseconds, also where every message takes long: on
// a slow network, or where more ranks and threads than there are cores wait for one.

#include "filled_map.hpp"

#include <unistd.h>

namespace {

bool is_slow = false;
long long messages = 0;

}  // namespace

// Stands in front of MPI's function for the library as well.
extern "C" __attribute__((visibility("default"))) int MPI_Sendrecv(
    const void* sent, int sends, MPI_Datatype send_type, int to, int send_tag, void* received,
    int receives, MPI_Datatype receive_type, int from, int receive_tag, MPI_Comm comm,
    MPI_Status* status) {
  ++messages;
  if (is_slow) usleep(2000);
  return PMPI_Sendrecv(sent, sends, send_type, to, send_tag, received, receives, receive_type, from,
                       receive_tag, comm, status);
}

namespace valet::test {
namespace {

/// Messages of a plan that measures with buffers of a few kilobytes.
long long messages_of_a_measurement(bool slow) {
  const OwnComm comm;  // nothing is known about it
  FilledMap filled(ring_map(size(), 40, 40, 1), rank(), Shape::dense);
  const Options options{.budget_bytes = filled.storage().block_bytes(),
                        .method = Method::automatic};
  messages = 0;
  is_slow = slow;
  { const Plan plan = filled.plan(comm, Form::to_ranks, options); }
  is_slow = false;
  return messages;
}

TEST(Calibration, TakesFewMessagesWhereEachTakesLong) {
  EXPECT_GT(messages_of_a_measurement(false), 0) << "measured with other calls";
  EXPECT_LE(messages_of_a_measurement(true), 50) << "of 2 ms";
}

}  // namespace
}  // namespace valet::test

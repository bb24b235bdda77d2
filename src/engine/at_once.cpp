// SPDX-License-Identifier: BSD-3-Clause
#include "engine/at_once.hpp"

#include "mpi/message.hpp"
#include "mpi/tags.hpp"

namespace valet::engine {

void AtOnce::receive(int rank, std::byte* memory, std::size_t bytes) {
  MPI_Request& request = requests_[posted_++];
  mpi::post_receive(channel_, memory, bytes, rank, mpi::tag_data, request);
  observer_.receives(&request, rank, bytes);
}

void AtOnce::meet() {
  if (channel_.size() > 1) mpi::post_barrier(channel_, requests_[meeting_]);
}

void AtOnce::send(int rank, const std::byte* memory, std::size_t bytes) {
  requests_.wait(meeting_);
  MPI_Request& request = requests_[receives_ + sent_++];
  mpi::post_send(channel_, memory, bytes, rank, mpi::tag_data, request);
  observer_.sends(&request, rank, bytes);
}

void AtOnce::wait_for_sends() {
  requests_.wait(meeting_);
  for (std::size_t k = 0; k < sent_; ++k) requests_.wait(receives_ + k);
}

}  // namespace valet::engine

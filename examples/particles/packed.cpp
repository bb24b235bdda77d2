// SPDX-License-Identifier: BSD-3-Clause
#include "packed.hpp"

#include "support/ranks.hpp"
#include <valet/error.hpp>

#include <zoltan.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace particles {
namespace {

int bytes_of_particle(void*, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int* error) {
  *error = ZOLTAN_OK;
  return static_cast<int>(Cloud::bytes_each);
}

void pack(void* data, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR slot, int, int, char* buffer,
          int* error) {
  static_cast<const Cloud*>(data)->pack(*slot, buffer);
  *error = ZOLTAN_OK;
}

void unpack(void* data, int, ZOLTAN_ID_PTR, int, char* buffer, int* error) {
  Cloud& cloud = *static_cast<Cloud*>(data);
  cloud.unpack(cloud.count++, buffer);
  *error = ZOLTAN_OK;
}

void copy_particle(const Cloud& cloud, std::uint64_t from, std::uint64_t to) {
  for (std::size_t d = 0; d < 3; ++d) {
    cloud.position(to, d) = cloud.position(from, d);
    cloud.velocity(to, d) = cloud.velocity(from, d);
  }
  cloud.id(to) = cloud.id(from);
  cloud.work(to) = cloud.work(from);
  cloud.mass(to) = cloud.mass(from);
}

/// Everything is packed: what stays closes up. Exports are in the order of slots.
void close_up(void* data, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int exports,
              ZOLTAN_ID_PTR, ZOLTAN_ID_PTR slots, int*, int*, int* error) {
  Cloud& cloud = *static_cast<Cloud*>(data);
  std::uint64_t kept = 0;
  int next = 0;
  for (std::uint64_t k = 0; k < cloud.count; ++k) {
    if (next < exports && slots[next] == k)
      ++next;
    else
      copy_particle(cloud, k, kept++);
  }
  cloud.count = kept;
  *error = ZOLTAN_OK;
}

/// What Zoltan_Migrate is told.
struct Exports {
  Exports(std::span<const int> ranks, int own) {
    const auto leave = static_cast<std::size_t>(
        std::ranges::count_if(ranks, [own](int rank) { return rank != own; }));
    slots.reserve(leave);
    to.reserve(leave);
    for (std::size_t k = 0; k < ranks.size(); ++k) {
      if (ranks[k] == own) continue;
      slots.push_back(static_cast<ZOLTAN_ID_TYPE>(k));
      to.push_back(ranks[k]);
    }
  }
  std::vector<ZOLTAN_ID_TYPE> slots;  ///< for global ids, too: nobody looks at them
  std::vector<int> to;
};

void require_slots(const valet::zoltan::Rebalancer& rebalancer,
                   const valet::zoltan::Partition& partition, std::uint64_t slots) {
  const std::uint64_t most = std::ranges::max(rebalancer.required_slots(partition));
  if (most > slots)
    throw valet::Error(valet::ErrorCode::infeasible, "a rank would hold " + std::to_string(most) +
                                                         " particles, but has " +
                                                         std::to_string(slots) + " slots");
}

}  // namespace

void PackedExchange::Destroy::operator()(Zoltan_Struct* zoltan) const { Zoltan_Destroy(&zoltan); }

PackedExchange::PackedExchange(MPI_Comm communicator) {
  float version = 0;
  if (Zoltan_Initialize(0, nullptr, &version) == ZOLTAN_OK)
    zoltan_.reset(Zoltan_Create(communicator));
  if (zoltan_ == nullptr) throw std::runtime_error("Zoltan cannot be initialised");
  Zoltan_Set_Param(zoltan_.get(), "DEBUG_LEVEL", "0");
}

valet::zoltan::RebalanceResult PackedExchange::rebalance(valet::zoltan::Rebalancer& rebalancer,
                                                         Cloud& cloud) {
  valet::zoltan::RebalanceResult result;
  const int own = example::rank_of(MPI_COMM_WORLD);
  const valet::zoltan::Partition partition = rebalancer.partition(cloud.count);
  require_slots(rebalancer, partition, cloud.slots());
  const double start = MPI_Wtime();
  Exports exports(partition.ranks(), own);
  const auto leave = static_cast<int>(exports.slots.size());
  result.report.blocks_before = cloud.count;
  Zoltan_Set_Obj_Size_Fn(zoltan_.get(), bytes_of_particle, nullptr);
  Zoltan_Set_Pack_Obj_Fn(zoltan_.get(), pack, &cloud);
  Zoltan_Set_Unpack_Obj_Fn(zoltan_.get(), unpack, &cloud);
  Zoltan_Set_Mid_Migrate_PP_Fn(zoltan_.get(), close_up, &cloud);
  if (Zoltan_Migrate(zoltan_.get(), -1, nullptr, nullptr, nullptr, nullptr, leave,
                     exports.slots.data(), exports.slots.data(), exports.to.data(),
                     exports.to.data()) != ZOLTAN_OK)
    throw std::runtime_error("Zoltan_Migrate failed, out of memory perhaps");
  result.count = cloud.count;
  result.before = partition.before();
  result.after = partition.after();
  result.partition_seconds = partition.seconds();
  result.migration_seconds = MPI_Wtime() - start;
  result.report.blocks_after = cloud.count;
  result.report.block_bytes = Cloud::bytes_each;
  result.report.blocks_sent = exports.slots.size();
  result.report.blocks_received = cloud.count + exports.slots.size() - result.report.blocks_before;
  result.report.bytes_sent = exports.slots.size() * Cloud::bytes_each;
  return result;
}

}  // namespace particles

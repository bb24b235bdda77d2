// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "block_comparison.hpp"
#include <valet/zoltan/valet_zoltan.h>

#include <cstdint>
#include <string>
#include <vector>

namespace valet::bench {

/// An application with objects of one size in a pool of slots, all of which leave: object k of a
/// rank goes to the other ranks in turn. The local id is the slot, and a slot is as good as
/// another. Uses Zoltan's interface only, but for the free callback of STEPS.
class DropinClient {
 public:
  /// @param multi  Register the multi forms of the callbacks.
  DropinClient(std::uint64_t objects, std::uint64_t object_bytes, bool multi);
  DropinClient(const DropinClient&) = delete;
  DropinClient& operator=(const DropinClient&) = delete;
  ~DropinClient() { Zoltan_Destroy(&zoltan_); }

  /// Writes all objects anew, each on the rank of its number.
  void fill();
  /// One migration of everything. `callbacks`: ZOLTAN, HOLD or STEPS. Returns Zoltan's code.
  int migrate(const std::string& callbacks, const std::string& memory);
  /// The report of the last migration that was not stock.
  [[nodiscard]] Valet_Migration_Report report() const;
  /// Every object is on its rank, whole, and none is lost or doubled. Collective.
  [[nodiscard]] bool verified() const;

 private:
  [[nodiscard]] std::byte* object(ZOLTAN_ID_TYPE slot) const {
    return blocks_.field(0) + slot * object_bytes_;
  }
  void register_single_callbacks();
  void register_multi_callbacks();
  void pack(ZOLTAN_ID_TYPE slot, char* buffer) const;
  void unpack(const char* buffer);

  std::uint64_t objects_;
  std::uint64_t object_bytes_;
  Zoltan_Struct* zoltan_;
  BlockComparison blocks_;
  std::vector<ZOLTAN_ID_TYPE> free_;
  std::vector<ZOLTAN_ID_TYPE> gids_, lids_;
  std::vector<int> procs_;
};

}  // namespace valet::bench

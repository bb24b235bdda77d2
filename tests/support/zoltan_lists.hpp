// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <zoltan.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace valet::test {

/// Names and values.
using ZoltanParameters = std::vector<std::pair<std::string, std::string>>;
inline ZoltanParameters operator+(ZoltanParameters first, const ZoltanParameters& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// A Zoltan_Struct for all ranks.
class ZoltanHandle {
 public:
  ZoltanHandle() {
    float version = 0;
    Zoltan_Initialize(0, nullptr, &version);
    zoltan_.reset(Zoltan_Create(MPI_COMM_WORLD));
    set("DEBUG_LEVEL", "0");
  }

  void set(const std::string& name, const std::string& value) {
    code_ = std::max(code_, Zoltan_Set_Param(get(), name.c_str(), value.c_str()));
  }
  /// ZOLTAN_OK if all parameters were taken.
  [[nodiscard]] int code() const { return code_; }
  [[nodiscard]] Zoltan_Struct* get() const { return zoltan_.get(); }

 private:
  struct Destroy {
    void operator()(Zoltan_Struct* zoltan) const { Zoltan_Destroy(&zoltan); }
  };

  std::unique_ptr<Zoltan_Struct, Destroy> zoltan_;
  int code_ = ZOLTAN_OK;
};

/// What Zoltan_LB_Partition returns, freed in the end. Knows nothing of Valet.
class ZoltanLists {
 public:
  struct Arrays {
    int count = -1;
    ZOLTAN_ID_PTR gids = nullptr, lids = nullptr;
    int *procs = nullptr, *parts = nullptr;
  };

  /// @param balances  By Zoltan_LB_Balance, which tells no parts.
  explicit ZoltanLists(Zoltan_Struct* zoltan, bool balances = false) {
    code_ =
        balances
            ? Zoltan_LB_Balance(zoltan, &changes_, &gid_entries_, &lid_entries_, &imports_.count,
                                &imports_.gids, &imports_.lids, &imports_.procs, &exports_.count,
                                &exports_.gids, &exports_.lids, &exports_.procs)
            : Zoltan_LB_Partition(zoltan, &changes_, &gid_entries_, &lid_entries_, &imports_.count,
                                  &imports_.gids, &imports_.lids, &imports_.procs, &imports_.parts,
                                  &exports_.count, &exports_.gids, &exports_.lids, &exports_.procs,
                                  &exports_.parts);
  }
  ZoltanLists(const ZoltanLists&) = delete;
  ZoltanLists& operator=(const ZoltanLists&) = delete;
  ~ZoltanLists() {
    for (Arrays* const list : {&imports_, &exports_})
      Zoltan_LB_Free_Part(&list->gids, &list->lids, &list->procs, &list->parts);
  }

  [[nodiscard]] int code() const { return code_; }
  [[nodiscard]] bool changes() const { return changes_ != 0; }
  [[nodiscard]] int gid_entries() const { return gid_entries_; }
  [[nodiscard]] int lid_entries() const { return lid_entries_; }
  [[nodiscard]] const Arrays& imports() const { return imports_; }
  [[nodiscard]] const Arrays& exports() const { return exports_; }
  /// Where the objects of this rank go, whose local ids are their slots.
  [[nodiscard]] std::vector<int> ranks(std::uint64_t objects, int self) const {
    std::vector<int> ranks(objects, self);
    for (int k = 0; k < exports_.count; ++k) ranks[exports_.lids[k]] = exports_.procs[k];
    return ranks;
  }
  /// Zoltan_Migrate with the lists.
  [[nodiscard]] int migrate(Zoltan_Struct* zoltan) const {
    const auto& [in, out] = std::tie(imports_, exports_);
    return Zoltan_Migrate(zoltan, in.count, in.gids, in.lids, in.procs, in.parts, out.count,
                          out.gids, out.lids, out.procs, out.parts);
  }
  [[nodiscard]] int help_migrate(Zoltan_Struct* zoltan) const {
    const auto& [in, out] = std::tie(imports_, exports_);
    return Zoltan_Help_Migrate(zoltan, in.count, in.gids, in.lids, in.procs, out.count, out.gids,
                               out.lids, out.procs);
  }

 private:
  int code_ = ZOLTAN_OK, changes_ = 0;
  int gid_entries_ = 0, lid_entries_ = 0;
  Arrays imports_, exports_;
};

}  // namespace valet::test

// SPDX-License-Identifier: BSD-3-Clause

// Applications of five kinds migrate with stock Zoltan and with Valet in the default mode, HOLD:
// the application must end in the same state, byte for byte, having seen the same order of
// callbacks.

#include "application.hpp"
#include "lists.hpp"
#include "test_comm.hpp"

namespace {

using namespace clients;
using namespace valet::test;

/// Everything that varies, spread over the cases by their number.
struct Case {
  Behaviour behaviour = Behaviour::drop_in_pack;
  std::string lb_method;
  int parts = 0;
  Given given = Given::both;
  bool with_parts = true;
  bool all_objects_packed = false;  ///< MIGRATE_ONLY_PROC_CHANGES 0
  Blocks blocks = Blocks::as_they_are;
  int shift = 0;  ///< turns the numbers of objects over the ranks
  Forms forms;
  std::string method = "STREAM";
  std::string memory;

  [[nodiscard]] std::string name() const {
    return to_string(behaviour) + " " + lb_method + " parts " + std::to_string(parts) + " lists " +
           std::to_string(static_cast<int>(given)) + (with_parts ? " with parts" : "") +
           (all_objects_packed ? " all" : "") + " blocks " +
           std::to_string(static_cast<int>(blocks)) + (forms.size_multi ? " size*" : "") +
           (forms.pack_multi ? " pack*" : "") + (forms.unpack_multi ? " unpack*" : "") +
           (forms.stages_with_parts ? " pp" : "") + " gid " + std::to_string(forms.gid_entries) +
           " lid " + std::to_string(forms.lid_entries) + " " + method + " " + memory;
  }
};

Case make_case(Behaviour behaviour, const std::string& lb_method, int parts_choice, unsigned n) {
  Case one;
  one.behaviour = behaviour;
  one.lb_method = lb_method;
  one.parts = parts_choice == 0 ? 0 : parts_choice == 1 ? 2 * size() + 1 : std::max(1, size() - 1);
  // Multiplicative hashing, so that neighbouring cases differ in everything.
  const unsigned h = n * 2654435761U;
  const auto bit = [&](unsigned k) { return (h >> (8 + k) & 1) != 0; };
  one.forms = {bit(0),
               bit(1),
               bit(2),
               bit(3),
               static_cast<int>(h >> 12 & 3) % 3 + 1,
               static_cast<int>(h >> 14 & 3) % 3};
  one.given = static_cast<Given>((h >> 16) % 3);
  one.with_parts = bit(11);
  one.shift = static_cast<int>(n % 6);
  one.blocks = static_cast<Blocks>((h >> 25) % 3);
  if (behaviour == Behaviour::paired_callbacks)
    one.forms.size_multi = one.forms.pack_multi = one.forms.unpack_multi = true;
  if (behaviour == Behaviour::copy_out) {
    one.all_objects_packed = bit(12);
    if (one.given == Given::exports) one.given = Given::both;
  }
  const char* const budgets[] = {"1", "20K", "300K", "4M"};
  one.memory = budgets[h >> 22 & 3];
  if (bit(13) && bit(14)) {
    one.method = "DIRECT";
    one.memory = "64M";
  }
  return one;
}

/// Ranks with few objects, none, and many.
int objects_of(int rank, int shift) {
  const int place = (rank + shift) % 6;
  return place % 3 == 1 ? 0 : 90 + 170 * (place % 4);
}

class Migrations {
 public:
  explicit Migrations(const Case& one)
      : case_(one), zoltan_(Zoltan_Create(MPI_COMM_WORLD)), lists_(make_lists(one)) {}
  Migrations(const Migrations&) = delete;
  Migrations& operator=(const Migrations&) = delete;
  ~Migrations() { Zoltan_Destroy(&zoltan_); }

  std::vector<unsigned char> state(const char* method, std::string& complaint) {
    Application application = fresh();
    application.register_with(zoltan_);
    Zoltan_Set_Param(zoltan_, "MIGRATE_METHOD", method);
    Zoltan_Set_Param(zoltan_, "MIGRATE_MEMORY", case_.memory.c_str());
    Zoltan_Set_Param(zoltan_, "MIGRATE_VERIFY", "1");
    const int code = migrate(zoltan_, lists_, case_.given, case_.with_parts);
    application.after_migration(lists_.exports.gids);
    complaint = application.complaint();
    if (code != ZOLTAN_OK) complaint += " code " + std::to_string(code);
    return application.state();
  }

 private:
  Application fresh() {
    ZOLTAN_ID_TYPE first = 0;
    for (int r = 0; r < rank(); ++r)
      first += static_cast<ZOLTAN_ID_TYPE>(objects_of(r, case_.shift));
    return {MPI_COMM_WORLD, case_.behaviour, case_.forms, first, objects_of(rank(), case_.shift)};
  }

  Partition make_lists(const Case& one) {
    Zoltan_Set_Param(zoltan_, "DEBUG_LEVEL", "0");
    Zoltan_Set_Param(zoltan_, "NUM_GID_ENTRIES", std::to_string(one.forms.gid_entries).c_str());
    Zoltan_Set_Param(zoltan_, "NUM_LID_ENTRIES", std::to_string(one.forms.lid_entries).c_str());
    Zoltan_Set_Param(zoltan_, "MIGRATE_ONLY_PROC_CHANGES", one.all_objects_packed ? "0" : "1");
    Zoltan_Set_Param(zoltan_, "CHECK_HYPERGRAPH", "0");
    Application application = fresh();
    application.register_with(zoltan_);
    Partition lists = partition(zoltan_, one.forms, rank(), one.lb_method, one.parts,
                                one.behaviour == Behaviour::copy_out);
    arrange(lists.imports, one.forms, one.blocks);
    arrange(lists.exports, one.forms, one.blocks);
    return lists;
  }

  Case case_;
  Zoltan_Struct* zoltan_;
  Partition lists_;
};

class SameAsStock : public ::testing::TestWithParam<Behaviour> {};

TEST_P(SameAsStock, EndsInTheSameStateWithEveryPartitioner) {
  unsigned n = 1000 * static_cast<unsigned>(GetParam());
  for (const char* lb_method : {"RCB", "HSFC", "RANDOM", "BLOCK", "CYCLIC", "PHG"}) {
    for (int parts_choice = 0; parts_choice < 3; ++parts_choice) {
      const Case one = make_case(GetParam(), lb_method, parts_choice, ++n);
      SCOPED_TRACE(one.name());
      Migrations migrations(one);
      std::string stock_complaint;
      std::string complaint;
      const auto stock = migrations.state("ZOLTAN", stock_complaint);
      const auto held = migrations.state(one.method.c_str(), complaint);
      EXPECT_EQ(stock_complaint, "");
      EXPECT_EQ(complaint, "");
      EXPECT_TRUE(all_ranks(stock == held));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Clients, SameAsStock,
                         ::testing::Values(Behaviour::drop_in_pack, Behaviour::compact_in_mid,
                                           Behaviour::communicate, Behaviour::paired_callbacks,
                                           Behaviour::copy_out),
                         ParameterName());

}  // namespace

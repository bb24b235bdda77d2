// SPDX-License-Identifier: BSD-3-Clause
#include "handle/structure.hpp"

#include "handle/handle_state.hpp"
#include "mpi/family.hpp"
#include <valet/error.hpp>

#include <array>
#include <cstring>
#include <dlfcn.h>
#include <string>

// NOLINTBEGIN(clang-diagnostic-reserved-identifier,readability-identifier-naming): for ld
extern "C" {
__attribute__((weak)) decltype(Zoltan_Migrate) __real_Zoltan_Migrate;
__attribute__((weak)) decltype(Zoltan_LB_Partition) __real_Zoltan_LB_Partition;
__attribute__((weak)) decltype(Zoltan_LB_Balance) __real_Zoltan_LB_Balance;
}
// NOLINTEND(clang-diagnostic-reserved-identifier,readability-identifier-naming)

namespace valet::zoltan {
namespace {

constexpr std::array touched{
    ZOLTAN_OBJ_SIZE_FN_TYPE,       ZOLTAN_OBJ_SIZE_MULTI_FN_TYPE,  ZOLTAN_PACK_OBJ_FN_TYPE,
    ZOLTAN_PACK_OBJ_MULTI_FN_TYPE, ZOLTAN_UNPACK_OBJ_FN_TYPE,      ZOLTAN_UNPACK_OBJ_MULTI_FN_TYPE,
    ZOLTAN_PRE_MIGRATE_PP_FN_TYPE, ZOLTAN_PRE_MIGRATE_FN_TYPE,     ZOLTAN_MID_MIGRATE_PP_FN_TYPE,
    ZOLTAN_MID_MIGRATE_FN_TYPE,    ZOLTAN_POST_MIGRATE_PP_FN_TYPE, ZOLTAN_POST_MIGRATE_FN_TYPE};

/// The first members of the structure.
struct Head {
  MPI_Comm communicator;
  int rank;
  int ranks;
};

Head head_of(const Zoltan_Struct* zoltan) {
  Head head;
  std::memcpy(&head, zoltan, sizeof head);
  return head;
}

/// Takes the application's callbacks and its communicator out of the structure, in which this rank
/// is alone then, and puts them back at the end.
class Borrowed {
 public:
  explicit Borrowed(Zoltan_Struct* zoltan) : zoltan_(zoltan), head_(head_of(zoltan)) {
    const Head alone{MPI_COMM_SELF, 0, 1};
    std::memcpy(static_cast<void*>(zoltan_), &alone, sizeof alone);
    for (std::size_t k = 0; k < touched.size(); ++k)
      functions_[k] = registered(zoltan_, touched[k]);
    for (const ZOLTAN_FN_TYPE type : touched) Zoltan_Set_Fn(zoltan_, type, nullptr, nullptr);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() {
    std::memcpy(static_cast<void*>(zoltan_), &head_, sizeof head_);
    for (const ZOLTAN_FN_TYPE type : touched) Zoltan_Set_Fn(zoltan_, type, nullptr, nullptr);
    // A single form clears the multi form and the other way round, so only what was there.
    for (std::size_t k = 0; k < touched.size(); ++k)
      if (functions_[k].given())
        Zoltan_Set_Fn(zoltan_, touched[k], functions_[k].function, functions_[k].data);
  }

 private:
  Zoltan_Struct* zoltan_;
  Head head_;
  std::array<Registered<ZOLTAN_VOID_FN>, touched.size()> functions_;
};

void report_entries(void* data, int gids, int lids, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*,
                    int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int* code) {
  static_cast<Probe*>(data)->entries = {gids, lids};
  *code = ZOLTAN_OK;
}

int report_packed(void* data, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int* code) {
  static_cast<Probe*>(data)->only_proc_changes = false;
  *code = ZOLTAN_OK;
  return 0;
}

void pack_nothing(void*, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int, int, char*, int* code) {
  *code = ZOLTAN_OK;
}

void unpack_nothing(void*, int, ZOLTAN_ID_PTR, int, char*, int* code) { *code = ZOLTAN_OK; }

/// Behind the linker's --wrap, else the next definition behind this library, else the first one:
/// Zoltan's, where this library is not in front of it.
template <class Function>
Function* stock(Function* wrapped, Function* first, const char* name) {
  if (wrapped != nullptr) return wrapped;
#ifdef VALET_ZOLTAN_IS_STATIC
  return first;
#else
  if (void* const next = dlsym(RTLD_NEXT, name)) return reinterpret_cast<Function*>(next);
  static const Dl_info own = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&communicator_of), &info);
    return info;
  }();
  Dl_info found{};
  if (dladdr(reinterpret_cast<void*>(first), &found) != 0 && own.dli_fbase != found.dli_fbase)
    return first;
  throw Error(ErrorCode::internal,
              std::string("no ") + name +
                  " behind Valet; link or preload libvalet_zoltan.so in front of a shared Zoltan, "
                  "or use valet_enable_zoltan() in CMake for a static one");
#endif
}

}  // namespace

MPI_Comm communicator_of(const Zoltan_Struct* zoltan) {
  valet::mpi::require_own_mpi();
  const Head head = head_of(zoltan);
  if (head.communicator == MPI_COMM_NULL || head.rank == -1) return MPI_COMM_NULL;
  int rank = -1;
  int ranks = -1;
  if (head.rank >= 0 && head.rank < head.ranks) {
    MPI_Comm_rank(head.communicator, &rank);
    MPI_Comm_size(head.communicator, &ranks);
  }
  if (rank != head.rank || ranks != head.ranks)
    throw Error(ErrorCode::invalid_communicator,
                "the communicator is not where Zoltan 3.83 and 3.90 have it; use "
                "MIGRATE_METHOD=ZOLTAN with this version of Zoltan");
  return head.communicator;
}

decltype(&Zoltan_Migrate) stock_migrate() {
  return stock(&__real_Zoltan_Migrate, &Zoltan_Migrate, "Zoltan_Migrate");
}
decltype(&Zoltan_LB_Balance) stock_balance() {
  return stock(&__real_Zoltan_LB_Balance, &Zoltan_LB_Balance, "Zoltan_LB_Balance");
}
decltype(&Zoltan_LB_Partition) stock_partition() {
  return stock(&__real_Zoltan_LB_Partition, &Zoltan_LB_Partition, "Zoltan_LB_Partition");
}

Probe probe(Zoltan_Struct* zoltan, ObjectIds object) {
  auto* const stock = stock_migrate();
  Probe result;
  const Borrowed application(zoltan);
  Zoltan_Set_Pre_Migrate_PP_Fn(zoltan, report_entries, &result);
  Zoltan_Set_Obj_Size_Fn(zoltan, report_packed, &result);
  Zoltan_Set_Pack_Obj_Fn(zoltan, pack_nothing, nullptr);
  Zoltan_Set_Unpack_Obj_Fn(zoltan, unpack_nothing, nullptr);
  // One object that stays where it is: it is packed unless only changes of the rank count. It is
  // one of the application's, whose ids are as long as they are.
  int self = 0;
  result.code = stock(zoltan, -1, nullptr, nullptr, nullptr, nullptr,
                      object.gids == nullptr ? 0 : 1, object.gids, object.lids, &self, nullptr);
  return result;
}

}  // namespace valet::zoltan

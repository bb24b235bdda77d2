// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What Zoltan asks for, as far as the application has registered no function of its own.

#include "handle/handle_state.hpp"
#include "handle/object_ids.hpp"
#include "rebalancer/zoltan_weights.hpp"
#include <valet/ledger.hpp>

#include <zoltan.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace valet::zoltan {

/// Which query functions the application has registered.
struct RegisteredQueries {
  explicit RegisteredQueries(Zoltan_Struct* zoltan);

  std::int64_t all = 0;  ///< one bit for each function
  [[nodiscard]] static std::string names(std::int64_t all);
  bool count = false;    ///< how many objects there are
  bool objects = false;  ///< lists of them
  bool geometry = false;
  bool parts = false;
  bool fixed = false;  ///< objects that must be in a part
  /// Any but the number of objects.
  [[nodiscard]] bool tells_of_objects() const { return (all & ~std::int64_t{1}) != 0; }

  /// The objects that the application says it has.
  /// @param code  Zoltan's.
  [[nodiscard]] static int count_objects(Zoltan_Struct* zoltan, int& code);
};

/// What Zoltan is told, where the application tells it nothing.
struct Answers {
  const ZoltanWeights& weights;  ///< with the objects
  std::span<const int> parts;    ///< of each object; empty: rank's own
};

/// A function of the application. Its failure is kept with the objects; the ranks agree on it when
/// Zoltan has returned.
struct GuardedQuery {
  Zoltan_Struct* zoltan;
  const rebalance::Objects* objects;
  const char* name;
  ZOLTAN_VOID_FN* function;
  void* data;
};

/// What Zoltan is given in its place, with a GuardedQuery.
struct Guard {
  ZOLTAN_FN_TYPE type;
  const char* name;
  ZOLTAN_VOID_FN* function;
  ZOLTAN_FN_TYPE as = type;     ///< what it is to Zoltan, unless there is a function of that type
  ZOLTAN_FN_TYPE needs = type;  ///< without a function of that type Zoltan does not ask
};

/// Stands in for the functions that are missing while it lives, for the number of objects, and for
/// those of the application that may fail.
class Queries {
 public:
  Queries(Zoltan_Struct* zoltan, const Answers& answers);
  Queries(const Queries&) = delete;
  Queries& operator=(const Queries&) = delete;
  ~Queries();

  /// Asks the application what Zoltan must be told the truth about, or ranks would leave it alone:
  /// the number of coordinates; and for a graph the ids of objects, hyperedges, and what is fixed,
  /// which are read and forgotten. Local.
  /// @return What failed, if anything.
  [[nodiscard]] std::optional<Diagnostic> ask_ahead(Ledger& ledger, bool is_graph);
  /// The number of coordinates that the application tells; 0: it tells none. After ask_ahead().
  [[nodiscard]] int dimensions() const { return dimensions_; }

 private:
  void set(ZOLTAN_FN_TYPE type, ZOLTAN_VOID_FN* function, const void* data);
  void guard(const Guard& one);
  [[nodiscard]] bool has(ZOLTAN_FN_TYPE type) const { return registered(zoltan_, type).given(); }
  void read_graph(Ledger& ledger, const EntryCounts& entries) const;

  struct Replaced {
    ZOLTAN_FN_TYPE type;
    Registered<ZOLTAN_VOID_FN> before;
  };
  Zoltan_Struct* zoltan_;
  const Answers answers_;
  const RegisteredQueries application_;
  int dimensions_ = 0;
  std::vector<Replaced> replaced_;
  std::vector<GuardedQuery> guarded_;  ///< in place: Zoltan has their addresses
};

}  // namespace valet::zoltan

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What Zoltan asks for, as far as the application has registered no function of its own.

#include "rebalancer/zoltan_weights.hpp"

#include <zoltan.h>

#include <array>
#include <cstddef>
#include <cstdint>
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

/// A function of the application. On ranks where it fails Zoltan is not told, because others would
/// wait for this one; the ranks agree on it when Zoltan has returned.
struct GuardedQuery {
  const Objects* objects;
  const char* name;
  ZOLTAN_VOID_FN* function;
  void* data;
};

/// Stands in for the functions that are missing while it lives, and for the number of objects, and
/// in front of those for objects and coordinates.
class Queries {
 public:
  /// @param answers  Must outlive this.
  Queries(Zoltan_Struct* zoltan, const Answers& answers);
  Queries(const Queries&) = delete;
  Queries& operator=(const Queries&) = delete;
  ~Queries();

 private:
  void set(ZOLTAN_FN_TYPE type, ZOLTAN_VOID_FN* function, const void* data);
  void guard(ZOLTAN_FN_TYPE type, const char* name, ZOLTAN_VOID_FN* function);

  struct Replaced {
    ZOLTAN_FN_TYPE type;
    ZOLTAN_VOID_FN* function;
    void* data;
  };
  Zoltan_Struct* zoltan_;
  const Answers& answers_;
  std::vector<Replaced> replaced_;
  std::array<GuardedQuery, 3> guarded_;
  std::size_t guarded_count_ = 0;
};

}  // namespace valet::zoltan

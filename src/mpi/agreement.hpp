// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Decisions that all ranks take together.

#include "mpi/channel.hpp"
#include <valet/error.hpp>
#include <valet/export.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

namespace valet::mpi {

/// A value that must be the same on all ranks, for the error where it is not.
struct Named {
  const char* name;  ///< such as "option order"
  /// Writes a value; null where it says nothing to a reader.
  std::string (*text)(std::int64_t value) = [](std::int64_t value) {
    return std::to_string(value);
  };
  const char* remedy = "give the same on all ranks";
  ErrorCode code = ErrorCode::invalid_argument;
};

/// The texts of enumerations with a to_string(), of yes and no, and of what may be left out.
template <class Value>
[[nodiscard]] std::string name_of(std::int64_t value) {
  return to_string(static_cast<Value>(value));
}
[[nodiscard]] inline std::string yes_or_no(std::int64_t value) { return value != 0 ? "yes" : "no"; }
[[nodiscard]] inline std::string is_given(std::int64_t value) {
  return value != 0 ? "given" : "not given";
}

/// What the ranks of a call exchange before anything moves: what they found wrong, values of
/// which the largest or the least counts, and values that must be the same everywhere. All of it
/// is agreed in one reduction; only where something is wrong there are more.
///
/// Values are the caller's own variables, which get the answer: bool, enumerations, integers
/// (unsigned ones count as far as 2^63 - 1), and doubles that are not negative. Every rank gives
/// the same ones in the same order.
class VALET_EXPORT Agreement {
 public:
  /// Gets the largest value of all ranks.
  template <class Value>
  void largest(Value& value) {
    add({.store = store_as<Value>, .value = &value}, word_of(value));
  }
  /// Gets the least value of all ranks.
  template <class Value>
  void least(Value& value) {
    const auto store = [](void* least, std::int64_t word) { store_as<Value>(least, ~word); };
    add({.store = store, .value = &value}, ~word_of(value));
  }
  /// Must be the same on all ranks.
  template <class Value>
  void equal(const Named& named, Value value) {
    add({.named = named}, static_cast<std::int64_t>(value));
    add_word(~static_cast<std::int64_t>(value));
  }
  /// The same for a value that some ranks do not have, which get that of the others.
  template <class Value>
  void equal(const Named& named, std::optional<Value>& value) {
    const auto store = [](void* missing, std::int64_t word) {
      *static_cast<std::optional<Value>*>(missing) = static_cast<Value>(word);
    };
    add({.named = named, .store = store, .value = &value},
        value ? static_cast<std::int64_t>(*value) : lowest);
    add_word(value ? ~static_cast<std::int64_t>(*value) : lowest);
  }

  /// The same where it takes more than the value to say what differs: `explain`, one for all such
  /// values, is called on all ranks, is collective and throws.
  template <class Value>
  void equal(const std::optional<Value>& value, const std::function<void()>& explain) {
    explain_ = explain;
    add({.is_explained = true}, value ? static_cast<std::int64_t>(*value) : lowest);
    add_word(value ? ~static_cast<std::int64_t>(*value) : lowest);
  }

  /// A budget that is enough for this rank, whatever it has found. The text of budget_too_small has
  /// the largest one of all ranks where it says enough_mark.
  void enough(std::uint64_t budget_bytes) { enough_ = std::max(enough_, budget_bytes); }

  /// Either every rank returns or every rank throws. Collective. Once.
  /// @param mine  What this rank found wrong, if anything [local]. Of several failing ranks the
  ///              lowest one's finding is thrown, prefixed with that rank. Where nobody found
  ///              anything it is the first value that differs, with the ranks that have it.
  /// @throws Error with the same code and text on all ranks.
  void run(const Channel& channel, const std::optional<Diagnostic>& mine);

 private:
  static constexpr std::size_t most_words = 72;
  static constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();

  struct Entry {
    std::optional<Named> named = {};               ///< the value that must be the same
    bool is_explained = false;                     ///< the same with an error of its own
    void (*store)(void*, std::int64_t) = nullptr;  ///< gives the caller what was agreed on
    void* value = nullptr;                         ///< the caller's variable
    std::size_t first = 0;                         ///< first of its words
  };
  /// Not initialised before it is used, and without a destructor: a small migration takes about ten
  /// microseconds, and agrees several times.
  union Place {
    Place() {}
    Entry entry;
  };
  using Words = std::array<std::int64_t, most_words>;

  template <class Value>
  static std::int64_t word_of(Value value) {
    if constexpr (std::is_same_v<Value, double>)
      return std::bit_cast<std::int64_t>(value);  // those of one sign are ordered as their bits are
    else if constexpr (std::is_same_v<Value, std::uint64_t>)
      return static_cast<std::int64_t>(
          std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max()));
    else
      return static_cast<std::int64_t>(value);
  }
  template <class Value>
  static Value value_of(std::int64_t word) {
    if constexpr (std::is_same_v<Value, double>)
      return std::bit_cast<double>(word);
    else
      return static_cast<Value>(word);
  }
  template <class Value>
  static void store_as(void* value, std::int64_t word) {
    *static_cast<Value*>(value) = value_of<Value>(word);
  }
  void add(const Entry& entry, std::int64_t word);
  void add_word(std::int64_t word);

  std::array<Place, most_words> entries_;
  std::size_t entry_count_ = 0;
  /// First the number of the rank that failed. Of a value that must be the same: it and its
  /// complement, whose largest is the complement of the least.
  Words words_{};
  std::size_t word_count_ = 1;
  std::uint64_t enough_ = 0;
  std::function<void()> explain_;
};

/// Values that all ranks have agreed on. Only agree_on() makes them, so that what a rank derives
/// from its own counts is not taken for them.
template <class Values>
class Agreed {
 public:
  [[nodiscard]] const Values& operator*() const { return values_; }
  [[nodiscard]] const Values* operator->() const { return &values_; }

 private:
  explicit Agreed(const Values& values) : values_(values) {}
  template <class Any>
  friend Agreed<Any> agree_on(const Channel&, Agreement&, Any, const std::optional<Diagnostic>&);

  Values values_;
};

/// Runs an agreement that these values take part in, too. Collective. @throws Error as run().
/// @param mine   Those of this rank; their join() says how the ranks agree.
/// @param wrong  As for run().
template <class Values>
[[nodiscard]] Agreed<Values> agree_on(const Channel& channel, Agreement& agreement, Values mine,
                                      const std::optional<Diagnostic>& wrong) {
  mine.join(agreement);
  agreement.run(channel, wrong);
  return Agreed<Values>(mine);
}

/// Stands for the budget that is enough for all ranks; see Agreement::enough().
constexpr const char* enough_mark = "{enough}";
/// What to set a budget to.
constexpr const char* at_least_enough = "at least {enough}, which is enough for all ranks";
/// The error that a budget is too small, with that number. @param what  For what.
[[nodiscard]] Diagnostic budget_too_small_for(const std::string& what, std::uint64_t budget_bytes);

/// Either every rank returns or every rank throws, as Agreement::run() has it. Collective; one
/// reduction when nobody failed.
/// @param enough  As for Agreement::enough().
VALET_EXPORT void agree(const Channel& channel, const std::optional<Diagnostic>& mine,
                        std::uint64_t enough = 0);

/// Whether it is so on some rank. Collective; one reduction.
/// @param mine  As for Agreement::run().
[[nodiscard]] VALET_EXPORT bool on_some_rank(const Channel& channel, bool here,
                                             const std::optional<Diagnostic>& mine = {});

/// Lets a plan that is being made have a channel of its own, without a reduction of its own: a part
/// of the agreement that planning ends with anyway.
class VALET_EXPORT Borrowing {
 public:
  /// Nothing where the channel is not planning.
  explicit Borrowing(Channel& channel);
  void join(Agreement& agreement);
  /// When the agreement has been run. Collective.
  /// @return Whether what is kept is what it was before. [global]
  bool complete();

 private:
  Channel& channel_;
  std::int64_t most_ = 0, least_ = 0;  ///< Channel::free_communicators()
};

/// Gives part r of `parts` to rank r; `from` gets theirs. P parts of equal length each. Collective.
VALET_EXPORT void exchange_all(const Channel& channel, std::span<const std::byte> parts,
                               std::span<std::byte> from);
/// The same for a value for each rank.
inline void exchange_all(const Channel& channel, std::span<const std::uint64_t> values,
                         std::span<std::uint64_t> from) {
  exchange_all(channel, std::as_bytes(values), std::as_writable_bytes(from));
}

/// Brings the same number of bytes of every rank to all ranks, in rank order. Collective.
VALET_EXPORT void gather_everywhere(const Channel& channel, std::span<const std::byte> own,
                                    std::span<std::byte> all);

/// The same for a value of each rank.
template <class Value>
void gather_everywhere(const Channel& channel, const Value& own, std::span<Value> all) {
  gather_everywhere(channel, std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(all));
}

/// The largest value of the ranks below this one; the least possible one on rank 0. Collective.
std::int64_t maximum_of_lower(const Channel& channel, std::int64_t value);

/// The sum of the values of the ranks below this one. Collective.
VALET_EXPORT std::uint64_t sum_of_lower(const Channel& channel, std::uint64_t value);
/// The same elementwise; as many sums as values.
VALET_EXPORT void sum_of_lower(const Channel& channel, std::span<const double> values,
                               std::span<double> sums);

/// Reductions over the ranks of `channel`, elementwise and in place. Collective.
VALET_EXPORT void sum(const Channel& channel, std::span<std::uint64_t> values);
VALET_EXPORT void sum(const Channel& channel, std::span<double> values);
VALET_EXPORT void maximum(const Channel& channel, std::span<std::uint64_t> values);
VALET_EXPORT void maximum(const Channel& channel, std::span<double> values);
/// The bytes of rank `from` to all. Collective.
void broadcast(const Channel& channel, std::span<std::byte> bytes, int from);
/// The bits that any rank has.
void unite(const Channel& channel, std::span<std::uint64_t> values);

}  // namespace valet::mpi

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What Valet remembers of a Zoltan_Struct, which has no room for it: parameters, the callbacks of
/// STEPS, the last report, the storage attached to it. It dies with the structure. Thread safe.

#include "handle/parameters.hpp"
#include <valet/block_cyclic.hpp>
#include <valet/error.hpp>
#include <valet/object_layout.hpp>
#include <valet/zoltan/valet_zoltan.h>

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace valet::zoltan {

/// Storage attached to a structure, as far as what remembers it is concerned.
class Attachment {
 public:
  Attachment() = default;
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;
  virtual ~Attachment() = default;
  virtual void structure_is_gone() = 0;
};

template <class Function>
struct Registered {
  Function* function = nullptr;
  void* data = nullptr;
  [[nodiscard]] bool given() const { return function != nullptr; }
};

/// What is registered with Zoltan, if anything.
[[nodiscard]] Registered<ZOLTAN_VOID_FN> registered(Zoltan_Struct* zoltan, ZOLTAN_FN_TYPE type);

struct HandleState {
  ParameterTable parameters;
  /// Zoltan's own parameters that it obeys and does not tell, by name in upper case.
  std::map<std::string, std::string> followed;
  Registered<VALET_FREE_OBJ_FN> free_object;
  Registered<VALET_MEMORY_FN> memory;
  std::optional<Valet_Migration_Report> report;
  std::shared_ptr<Attachment> attached;  ///< null: none, and never in a copy of a structure
};

enum class Reach { all_structures, this_structure };

/// Takes a parameter of ours. No structure (zz == NULL) is the default of all others.
ParameterAnswer set_parameter(const Zoltan_Struct* zoltan, const char* name, const char* value);
/// Remembers what Zoltan took, if it is followed.
void follow_parameter(const Zoltan_Struct* zoltan, const char* name, const char* value);
/// What a migration obeys: the structure's own values, then what the options of the caller say,
/// then what was set for NULL, then the environment.
/// @param given  The options of the caller, where it has some.
/// @param reach  Leaves out what is not said for this structure alone.
[[nodiscard]] MigrationParameters parameters_of(const Zoltan_Struct* zoltan,
                                                const MigrationParameters& given = {},
                                                Reach reach = Reach::all_structures);
/// The same for what moves in slots, with its method among the options.
[[nodiscard]] MigrationParameters parameters_of_storage(
    const Zoltan_Struct* zoltan, const Options& options,
    std::optional<std::uint64_t> granularity = {},
    WhenInfeasible when_infeasible = WhenInfeasible::refuse, Reach reach = Reach::all_structures);
/// A parameter for all structures, or of the environment, that says nothing about such objects, as
/// "NAME = value"; empty if there is none.
[[nodiscard]] std::string ignored_parameter(ObjectKind kind);
/// The error that a parameter which was set for this structure itself says nothing about its
/// objects.
[[nodiscard]] std::optional<Diagnostic> without_meaning(const Zoltan_Struct* zoltan,
                                                        ObjectKind kind);
/// What Zoltan was told last, in upper case; nothing where it has its default.
[[nodiscard]] std::optional<std::string> followed_parameter(const Zoltan_Struct* zoltan,
                                                            const std::string& name);
/// As Zoltan reads whole numbers.
[[nodiscard]] std::optional<int> followed_number(const Zoltan_Struct* zoltan,
                                                 const std::string& name);
/// What LB_BLOCK_SIZE, LB_GRID and LB_EXTENTS say where there is a grid or more than one dimension.
/// @param known  The layout that the objects are in, whose extents are those of all.
/// @param ranks  Gets those of a grid of one dimension without extents.
/// @param tiles  Gets those of other grids.
/// @return What is wrong with them, if anything.
[[nodiscard]] std::optional<Diagnostic> read_tiles(const Zoltan_Struct* zoltan,
                                                   const std::optional<ObjectLayout>& known,
                                                   int& ranks, std::optional<BlockCyclic>& tiles);

[[nodiscard]] bool has_attached(const Zoltan_Struct* zoltan);
/// Calls read(const HandleState&) with what is remembered, if anything is.
void read_handle_state(const Zoltan_Struct* zoltan,
                       const std::function<void(const HandleState&)>& read);
/// A copy of one member.
template <class Member>
[[nodiscard]] Member copy_of(const Zoltan_Struct* zoltan, Member HandleState::*member) {
  Member copy{};
  read_handle_state(zoltan, [&](const HandleState& own) { copy = own.*member; });
  return copy;
}
/// Calls change(HandleState&) with what is remembered.
void change_handle_state(const Zoltan_Struct* zoltan,
                         const std::function<void(HandleState&)>& change);

/// `to` gets what `from` has, but for the report and the storage.
void copy_handle_state(const Zoltan_Struct* to, const Zoltan_Struct* from);
/// Also ends what is attached.
void forget_handle_state(const Zoltan_Struct* zoltan);

/// Whether calls of Zoltan's functions reach Valet. Local.
[[nodiscard]] bool stands_in_front();
/// Whether a call of Zoltan_Destroy() is that question, which is answered by it.
[[nodiscard]] bool answers_question(Zoltan_Struct** destroyed);

/// Gives parameters of Zoltan's that are changed meanwhile the values back that the application had
/// set, or Zoltan's default. What is followed is always what the application has set. Local.
class ParameterLoan {
 public:
  struct Name {
    const char* name;
    const char* otherwise = "DEFAULT";  ///< the default, in Zoltan's words
    bool is_kept = false;               ///< Zoltan goes on with what it was told meanwhile
  };
  ParameterLoan(Zoltan_Struct* zoltan, std::initializer_list<Name> names);
  ParameterLoan(const ParameterLoan&) = delete;
  ParameterLoan& operator=(const ParameterLoan&) = delete;
  ~ParameterLoan();

 private:
  Zoltan_Struct* zoltan_;
  std::vector<std::pair<Name, std::string>> before_;
};

}  // namespace valet::zoltan

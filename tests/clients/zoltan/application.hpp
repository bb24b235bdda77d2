// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Applications that use Zoltan's migration in the ways that real ones do. They know nothing of
/// Valet: what they assume of the callbacks is what their models assume.

#include <mpi.h>
#include <zoltan.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace clients {

/// When an exported object is dropped, and what else the application relies on.
enum class Behaviour {
  drop_in_pack,      ///< Zoltan's test driver: pre gives imports the slots of exports
  compact_in_mid,    ///< Zoltan's graph example: mid shifts the others down, local ids change
  communicate,       ///< Timothy, pacmensl: the same, and mid and post are collective
  paired_callbacks,  ///< Fluidity: size and pack share memory and a list; one unpack; drops at the
                     ///< end
  copy_out,          ///< vtkZoltanV1: never drops; pre makes room from full lists
};
constexpr int behaviours = 5;
std::string to_string(Behaviour behaviour);

/// Which of Zoltan's forms the application registers.
struct Forms {
  bool size_multi = false;
  bool pack_multi = false;
  bool unpack_multi = false;
  bool stages_with_parts = false;
  int gid_entries = 1;
  int lid_entries = 1;
};

struct Object {
  ZOLTAN_ID_TYPE id = 0;
  std::vector<unsigned char> payload;
};

/// Bytes of object `id` when packed: many small ones, some empty, a few large.
int packed_size(ZOLTAN_ID_TYPE id);

class Application {
 public:
  /// Starts with the objects of this rank: ids first, first+1, ...
  Application(MPI_Comm communicator, Behaviour behaviour, const Forms& forms, ZOLTAN_ID_TYPE first,
              int count);

  void register_with(Zoltan_Struct* zoltan);
  /// What an application does when Zoltan_Migrate has returned.
  void after_migration(const std::vector<ZOLTAN_ID_TYPE>& exported);

  /// Everything it owns, byte for byte, and the order in which its callbacks were called.
  [[nodiscard]] std::vector<unsigned char> state() const;
  /// What it saw that its model would not survive.
  [[nodiscard]] const std::string& complaint() const { return complaint_; }
  [[nodiscard]] std::vector<ZOLTAN_ID_TYPE> ids() const;
  [[nodiscard]] std::uint64_t objects() const;

  // The callbacks.
  int number_of_objects() const;
  void list_objects(ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR lids) const;
  int size(ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid);
  void pack(ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid, int destination, int bytes, char* buffer);
  void unpack(ZOLTAN_ID_PTR gid, int bytes, const char* buffer);
  void begin_sizes(int count, ZOLTAN_ID_PTR gids);
  void begin_packs(int count, ZOLTAN_ID_PTR gids);
  void begin_unpacks(int count);
  void pre(int imports, int exports, ZOLTAN_ID_PTR export_gids, ZOLTAN_ID_PTR export_lids);
  void mid(int exports, ZOLTAN_ID_PTR export_gids);
  void post();
  [[nodiscard]] const Forms& forms() const { return forms_; }

 private:
  static constexpr std::size_t no_slot = ~std::size_t{0};
  std::size_t slot_of(ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid);
  void put(std::size_t slot, Object object);
  void complain(const std::string& text);
  void log(std::uint32_t what, std::uint64_t value = 0);

  MPI_Comm communicator_;
  Behaviour behaviour_;
  Forms forms_;
  std::vector<std::unique_ptr<Object>> slots_;
  std::map<ZOLTAN_ID_TYPE, std::size_t> slot_of_id_;
  std::vector<std::size_t> reserved_;   ///< drop_in_pack: for imports, in reverse
  std::vector<ZOLTAN_ID_TYPE> paired_;  ///< paired_callbacks: what sizes was asked for
  std::vector<std::vector<unsigned char>> shared_;
  std::vector<Object> output_;  ///< copy_out
  std::size_t output_room_ = 0;
  int unpack_calls_ = 0;
  bool mid_done_ = false;
  std::vector<std::uint64_t> log_;
  std::string complaint_;
};

}  // namespace clients

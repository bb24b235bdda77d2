#include "steps.hpp"
namespace valet::zoltan {
void migrate_in_steps(Context&, const ObjectList&, std::span<const int>, Imports&, const Scratch&,
                      const Attachment&) {}
}  // namespace valet::zoltan

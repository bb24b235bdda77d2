// SPDX-License-Identifier: BSD-3-Clause
#include <valet/block_storage.hpp>
#include <valet/detail/host_fields.hpp>

#include <utility>

namespace valet {

BlockStorage::BlockStorage(std::initializer_list<Field> fields)
    : BlockStorage(std::span<const Field>(fields.begin(), fields.size())) {}

BlockStorage::BlockStorage(std::span<const Field> fields)
    : backend_(std::make_shared<HostFields>(fields)) {}

BlockStorage::BlockStorage(std::shared_ptr<StorageBackend> backend)
    : backend_(std::move(backend)) {}

}  // namespace valet

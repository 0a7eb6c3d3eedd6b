// What the loader and libstepslack_mpi.so agree on.
#pragma once

#include <memory>
#include <string_view>

#include "stepslack/comm/mpi_transport.h"

namespace stepslack::comm {

constexpr int kMpiAdapterVersion = 1;  // grows with Transport and MpiOptions
constexpr const char* kMpiAdapterFile = "libstepslack_mpi.so";

using MpiConnected = tl::expected<std::unique_ptr<Transport>, TransportFailure>;
using MpiVersionFunction = int();
using MpiConnectFunction = void(const MpiOptions& options, MpiConnected& connected);

}  // namespace stepslack::comm

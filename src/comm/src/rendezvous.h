// What is checked before an engine is asked to connect, so that the usual mistakes have
// a name and take no longer than the time-out.
#pragma once

#include <string>

#include "stepslack/base/result.h"

namespace stepslack::comm {

// Numeric address of a host name or of an address. COMM-0042: not known in time.
base::Result<std::string> ResolveHost(const std::string& host, double timeout_seconds);

// COMM-0041: there is no such network interface, or it is down or has no address.
base::Status CheckInterface(const std::string& interface);

// The interface through which packets to `address` leave; "lo" when none is found.
std::string InterfaceTowards(const std::string& address);

// Rank 0, before it listens. COMM-0040: another program has the port, or it may not be
// used.
base::Status CheckPortFree(int port);

// The other ranks: waits until rank 0 listens. COMM-0047: it does not in time.
base::Status WaitForMaster(const std::string& address, int port,
                           double timeout_seconds);

}  // namespace stepslack::comm

// What a profile of a whole host holds: one event store for each device, since a rank
// of a training job drives one device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepslack/trace/event_store.h"

namespace stepslack::trace {

struct DeviceTrace {
  std::string device;         // "/device:GPU:0", "GPU 0 of process 4711"; "host"
  std::string model;          // "NVIDIA H100 80GB HBM3"; empty when not known
  std::string pci_bus;        // "0000:19:00" as HostEvidence has it; may be empty
  int32_t device_index = -1;  // within its process; -1: a process without a device
  int64_t process = 0;        // of the system; 0: not known
  EventStore store;
};

// Ranks are given to the devices in the order of `traces`; the file itself seldom names
// them. `rank_source` says how, for the report.
struct DeviceTraces {
  std::vector<DeviceTrace> traces;
  std::string host;         // empty when not known
  std::string rank_source;  // one sentence
  ImportStats stats;        // of the file; what concerns one device is in its store
};

}  // namespace stepslack::trace

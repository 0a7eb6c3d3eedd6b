// TensorBoard event files: TFRecords (tensorflow/core/lib/io/record_writer.h) of Event
// messages (tensorflow/core/util/event.proto), read without generated code. Every
// record has two masked CRC32C values; both are checked.
#pragma once

#include <string_view>

#include "stepslack/base/result.h"
#include "stepslack/logs/series_set.h"

namespace stepslack::logs {

bool LooksLikeTfevents(std::string_view bytes);

// Scalars: simple_value, and tensors of one element (float, double, int32, int64).
// Values of float type are the float, widened. wall_time, a double of seconds, becomes
// the nearest ns. Counted: records with a wrong checksum (left out), a damaged length
// (reading ends there), a file that ends inside a record, malformed messages, values of
// other kinds (images, histograms, text), session starts.
// facts: "records", "checksums_verified", "file_version".
// Errors: LOGS-0030 (not an event file), LOGS-0031 (no scalar).
base::Result<SeriesSet> ParseTfevents(std::string_view bytes, std::string_view name);

}  // namespace stepslack::logs

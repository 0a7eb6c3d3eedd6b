// A MapCollection on disk, so that a stage can hand it to the next one:
//   8 bytes  "SSMAPS1\n"
//   8 bytes  length of the header, little-endian
//   header   JSON: schema, channels, target, maps with id, group, source, height, width
//   planes   float32, little-endian: per map its channels, then its target
//   64 bytes SHA-256 of everything before, hexadecimal
#pragma once

#include <string>
#include <string_view>

#include "stepslack/base/result.h"
#include "stepslack/data/map_collection.h"

namespace stepslack::data {

// Written plane by plane to a temporary file that is renamed when complete. DATA-0083
// when it can not be written (exit 4).
base::Status WriteCollection(const MapCollection& collection, const std::string& path);

// Integrity errors, exit 5: DATA-0080 not such a file or its parts do not fit together,
// DATA-0081 the content does not match its digest. DATA-0082 the file can not be
// opened.
base::Result<MapCollection> ReadCollection(const std::string& path);
base::Result<MapCollection> ParseCollection(std::string_view bytes,
                                            std::string_view name);

}  // namespace stepslack::data

// A MapCollection as files that others can read: x.npy [n,c,h,w] float32, y.npy [n,h,w]
// float32, samples.csv (id, family, source) and channels.csv (name, unit, categorical).
// IngestFolder reads it back.
#pragma once

#include <string>

#include "stepslack/base/result.h"
#include "stepslack/data/map_collection.h"

namespace stepslack::data {

// The folder must be absent or empty. DATA-0090 it holds something, DATA-0091 maps of
// different sizes or none; and what the system says when a file can not be written.
base::Status WriteArrayFolder(const MapCollection& collection, const std::string& path);

}  // namespace stepslack::data

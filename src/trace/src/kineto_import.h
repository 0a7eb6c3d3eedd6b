// The import behind ReadKinetoTrace(), over any stream of bytes.
#pragma once

#include <string_view>

#include "byte_source.h"
#include "stepslack/trace/kineto_reader.h"

namespace stepslack::trace {

base::Result<EventStore> ReadKineto(ByteSource& source, std::string_view name,
                                    const ReadOptions& options);

}  // namespace stepslack::trace

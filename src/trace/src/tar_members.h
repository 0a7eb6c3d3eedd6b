// Members of a tar archive (POSIX ustar, GNU long names, pax paths) as they stream by.
#pragma once

#include <functional>
#include <string>

#include "stepslack/trace/byte_source.h"

namespace stepslack::trace {

// True when `head` begins with a tar header whose check sum is right.
bool LooksLikeTar(std::string_view head);

// Calls visit(name, source) for each regular member. False: the archive ends inside a
// member, or a header is damaged.
bool VisitTarMembers(
    ByteSource& archive,
    const std::function<void(const std::string& name, ByteSource& source)>& visit);

}  // namespace stepslack::trace

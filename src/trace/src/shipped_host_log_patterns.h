// The text of knowledge/hostlogs.toml as it was when the program was built.
#pragma once

#include <string_view>

namespace stepslack::trace {

std::string_view ShippedHostLogText();

}  // namespace stepslack::trace

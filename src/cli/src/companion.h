// Files that are installed next to the program.
#pragma once

#include <string>
#include <string_view>

namespace stepslack::cli {

// What the environment variable names, else `name` in the program's own folder.
std::string Companion(const char* variable, std::string_view name);

}  // namespace stepslack::cli

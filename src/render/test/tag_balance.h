// A strict reader of the HTML and SVG that this module writes, for tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepslack::render {

struct TagReport {
  std::string error;                    // "" when well formed
  std::vector<std::string> ids;         // values of id attributes, in order
  std::vector<std::string> references;  // targets of href="#x" and url(#x)
};

// Every tag closes in order, attributes are quoted, no raw < or > or unknown entity in
// text, and only void elements and SVG shapes close themselves.
TagReport ReadTags(std::string_view text);

// "" or what is wrong: the above, and that ids are unique and every reference resolves.
std::string Malformed(std::string_view text);

}  // namespace stepslack::render

// Tables for a terminal: columns aligned, the widest text columns cut until the line
// fits.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stepslack::render {

struct TextCell {
  std::string text;
  std::string_view colour;  // ANSI sequence, or "" for none
};

struct TextColumn {
  std::string name;
  bool right = false;  // align to the right
  size_t least = 4;    // columns that remain when it is cut
};

// One line for the names and one for each row, at most `width` columns, two spaces
// between columns, no trailing spaces. Cells that are cut end in "...".
std::vector<std::string> FormatTable(const std::vector<TextColumn>& columns,
                                     const std::vector<std::vector<TextCell>>& rows,
                                     size_t width);

// The text, or its beginning and "..." in at most `columns` terminal columns.
std::string CutText(std::string_view text, size_t columns);

// Lines of at most `columns`, broken at spaces (inside a word only when it is longer
// than a line); at most `most_lines`, of which the last is then cut with "...".
std::vector<std::string> WrapColumns(std::string_view text, size_t columns,
                                     size_t most_lines);

}  // namespace stepslack::render

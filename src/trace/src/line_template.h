// Matches a line against a text with holes, in time linear in the line: no pattern that
// a user writes can make a log slow to read.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stepslack::trace {

struct TemplateCapture {
  std::string_view name;   // of the template
  std::string_view value;  // of the line
  bool is_int = false;
  bool is_pci = false;
};

// "mlx5_core {pci:pci} {netdev:word}: Link down" matches lines that begin so.
//   {name}       any text up to what follows, as short as possible
//   {name:int}   digits; {name:word} letters, digits and ._-/@+; {name:pci} hex, : and
//   .
//   {}           any text, not kept;  {{ and }} are braces
// A hole for any text must be followed by plain text or by the end.
class LineTemplate {
 public:
  // No value when the text is not a template; `why` then says what is wrong.
  static std::optional<LineTemplate> Parse(std::string_view text, std::string& why);

  // The captures are views into this template and into `line`.
  bool Match(std::string_view line, std::vector<TemplateCapture>& captures) const;
  std::vector<std::string> Names() const;

 private:
  enum class Kind { kText, kAny, kInt, kWord, kPci };
  struct Piece {
    Kind kind = Kind::kText;
    std::string text;  // the text itself, or the name of the hole
  };
  static bool ParseHole(std::string_view hole, Piece& piece, std::string& why);
  bool MatchRun(size_t first, std::string_view line, size_t& at,
                std::vector<TemplateCapture>& captures) const;

  std::vector<Piece> pieces_;
};

// Replaces "{name}" by the captured values; other text stays.
std::string FillTemplate(std::string_view text,
                         const std::vector<TemplateCapture>& captures);

}  // namespace stepslack::trace

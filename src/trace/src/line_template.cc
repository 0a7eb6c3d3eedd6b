#include "line_template.h"

#include <algorithm>

namespace stepslack::trace {
namespace {

// A run of pieces may begin at several places of a line; more than this are not tried.
constexpr int kMostPlaces = 16;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

bool LineTemplate::ParseHole(std::string_view hole, Piece& piece, std::string& why) {
  const size_t colon = hole.find(':');
  const std::string_view name = hole.substr(0, colon);
  const std::string_view type =
      colon == std::string_view::npos ? std::string_view() : hole.substr(colon + 1);
  piece.kind = type == "int"    ? Kind::kInt
               : type == "word" ? Kind::kWord
               : type == "pci"  ? Kind::kPci
                                : Kind::kAny;
  piece.text = std::string(name);
  const bool good_name = std::ranges::all_of(
      name, [](char c) { return IsLetter(c) || IsDigit(c) || c == '_'; });
  if (piece.kind == Kind::kAny && colon != std::string_view::npos) {
    why = "a hole is {name}, {name:int}, {name:word} or {name:pci}";
  } else if (!good_name) {
    why = "the name of a hole has letters, digits and _ only";
  }
  return why.empty();
}

std::optional<LineTemplate> LineTemplate::Parse(std::string_view text,
                                                std::string& why) {
  LineTemplate result;
  why.clear();
  std::string plain;
  const auto flush = [&] {
    if (!plain.empty()) result.pieces_.push_back({Kind::kText, plain});
    plain.clear();
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const bool doubled = i + 1 < text.size() && text[i + 1] == text[i];
    if (text[i] == '}' || (text[i] == '{' && doubled)) {
      if (!doubled) why = "a } without its {";
      plain.push_back(text[i++]);
    } else if (text[i] == '{') {
      const size_t end = text.find('}', i);
      if (end == std::string_view::npos) {
        why = "a { without its }";
        break;
      }
      flush();
      const bool after_any =
          !result.pieces_.empty() && result.pieces_.back().kind == Kind::kAny;
      Piece piece;
      if (!ParseHole(text.substr(i + 1, end - i - 1), piece, why)) break;
      if (after_any) why = "a hole for any text must be followed by plain text";
      result.pieces_.push_back(std::move(piece));
      i = end;
    } else {
      plain.push_back(text[i]);
    }
  }
  flush();
  if (why.empty() && std::ranges::none_of(result.pieces_, [](const Piece& piece) {
        return piece.kind == Kind::kText;
      })) {
    why = "no plain text";
  }
  if (!why.empty()) return std::nullopt;
  return result;
}

// The pieces from `first` up to the next hole for any text, at exactly `at`.
bool LineTemplate::MatchRun(size_t first, std::string_view line, size_t& at,
                            std::vector<TemplateCapture>& captures) const {
  for (size_t i = first; i < pieces_.size() && pieces_[i].kind != Kind::kAny; ++i) {
    const Piece& piece = pieces_[i];
    if (piece.kind == Kind::kText) {
      if (line.substr(at, piece.text.size()) != piece.text) return false;
      at += piece.text.size();
      continue;
    }
    const size_t from = at;
    while (at < line.size()) {
      const char c = line[at];
      const bool fits =
          piece.kind == Kind::kInt ? IsDigit(c)
          : piece.kind == Kind::kPci
              ? IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') ||
                    c == ':' || c == '.'
              : IsDigit(c) || IsLetter(c) ||
                    std::string_view("._-/@+").find(c) != std::string_view::npos;
      if (!fits) break;
      ++at;
    }
    // An address is often followed by the colon of the message.
    if (piece.kind == Kind::kPci) {
      while (at > from && (line[at - 1] == ':' || line[at - 1] == '.')) --at;
    }
    if (at == from) return false;
    captures.push_back({piece.text, line.substr(from, at - from),
                        piece.kind == Kind::kInt, piece.kind == Kind::kPci});
  }
  return true;
}

bool LineTemplate::Match(std::string_view line,
                         std::vector<TemplateCapture>& captures) const {
  captures.clear();
  size_t at = 0;
  size_t i = 0;
  while (i < pieces_.size()) {
    if (pieces_[i].kind != Kind::kAny) {  // only at the beginning
      if (!MatchRun(i, line, at, captures)) return false;
    } else if (i + 1 == pieces_.size()) {
      if (!pieces_[i].text.empty()) {
        captures.push_back({pieces_[i].text, line.substr(at)});
      }
      return true;
    } else {
      const std::string& literal = pieces_[i + 1].text;
      const size_t kept = captures.size();
      bool found = false;
      size_t place = line.find(literal, at);
      for (int tried = 0; place != std::string_view::npos && tried < kMostPlaces;
           ++tried, place = line.find(literal, place + 1)) {
        captures.resize(kept);
        if (!pieces_[i].text.empty()) {
          captures.push_back({pieces_[i].text, line.substr(at, place - at)});
        }
        size_t end = place;
        if (!MatchRun(i + 1, line, end, captures)) continue;
        at = end;
        found = true;
        break;
      }
      if (!found) return false;
      ++i;
    }
    while (i < pieces_.size() && pieces_[i].kind != Kind::kAny) ++i;
  }
  return true;
}

std::vector<std::string> LineTemplate::Names() const {
  std::vector<std::string> names;
  for (const Piece& piece : pieces_) {
    if (piece.kind != Kind::kText && !piece.text.empty()) names.push_back(piece.text);
  }
  return names;
}

std::string FillTemplate(std::string_view text,
                         const std::vector<TemplateCapture>& captures) {
  std::string filled;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = text[at] == '{' ? text.find('}', at) : std::string_view::npos;
    const auto found =
        end == std::string_view::npos
            ? captures.end()
            : std::ranges::find(captures, text.substr(at + 1, end - at - 1),
                                &TemplateCapture::name);
    if (found == captures.end()) {
      filled.push_back(text[at++]);
    } else {
      filled += found->value;
      at = end + 1;
    }
  }
  return filled;
}

}  // namespace stepslack::trace

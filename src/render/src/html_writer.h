// Writes HTML and SVG that is well formed by construction: names are literals checked
// at compile time, every text and attribute is escaped, and an element closes when its
// C++ scope ends. The same calls give the same bytes.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include "stepslack/base/json.h"

namespace stepslack::render {

// Escapes & < > " ' for text and attributes; bytes that are not valid UTF-8 and control
// characters become U+FFFD, so that the output is always valid.
std::string EscapeHtml(std::string_view text);

// At most `decimals` decimals, no trailing zeros, no "-0"; not finite: "0"; |value| is
// held below 1e9. For coordinates: what a person reads goes through base::Human.
std::string CompactNumber(double value, int decimals = 2);

// A tag or attribute name. Only literals can become one, so that no text of a user can.
class Name {
 public:
  consteval Name(const char* text) : text_(text) {  // NOLINT(runtime/explicit)
    if (text_.empty()) throw "a name is empty";
    for (const char c : text_) {
      const bool valid = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '-' || c == ':';
      if (!valid) throw "a name holds a character that is not allowed";
    }
  }
  constexpr std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

// Text of the program itself that is written as it stands (style sheets, scripts).
class TrustedText {
 public:
  consteval TrustedText(const char* text) : text_(text) {  // NOLINT(runtime/explicit)
    if (text_.find("</") != std::string_view::npos) throw "trusted text closes a tag";
  }
  constexpr std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

class Attribute {
 public:
  Attribute(Name name, std::string_view value)
      : name_(name.text()), value_(EscapeHtml(value)) {}
  Attribute(Name name, double value)
      : name_(name.text()), value_(CompactNumber(value)) {}
  Attribute(Name name, int value) : name_(name.text()), value_(std::to_string(value)) {}
  // Written only when the condition holds.
  static Attribute When(bool condition, Name name, std::string_view value);

 private:
  friend class HtmlWriter;
  std::string_view name_;  // empty: not written
  std::string value_;      // escaped
};

class HtmlWriter {
 public:
  using Attributes = std::initializer_list<Attribute>;

  // An open element; its end tag is written when this object goes out of scope.
  class [[nodiscard]] Element {
   public:
    ~Element() { writer_.Close(tag_, depth_); }
    Element(const Element&) = delete;
    Element& operator=(const Element&) = delete;

   private:
    friend class HtmlWriter;
    Element(HtmlWriter& writer, std::string_view tag, size_t depth)
        : writer_(writer), tag_(tag), depth_(depth) {}
    HtmlWriter& writer_;
    std::string_view tag_;
    size_t depth_;
  };

  Element Open(Name tag, Attributes attributes = {});
  // <tag ...>text</tag>
  void Leaf(Name tag, Attributes attributes, std::string_view text);
  void Leaf(Name tag, std::string_view text) { Leaf(tag, {}, text); }
  // <tag .../>: for void elements of HTML and for SVG shapes.
  void Empty(Name tag, Attributes attributes = {});
  void Text(std::string_view text) { out_ += EscapeHtml(text); }
  void Style(TrustedText css);
  void Script(TrustedText javascript);
  // <script type="application/json" id="...">: data for the script of the page. It can
  // not end the element nor open another, whatever its texts hold.
  void DataBlock(Name id, const base::Json& data);
  void Doctype() { out_ += "<!doctype html>\n"; }

  size_t size() const { return out_.size(); }
  // The document; every element must be closed.
  std::string Take();

 private:
  void Begin(std::string_view tag, Attributes attributes);
  void Close(std::string_view tag, size_t depth);

  std::string out_;
  size_t open_ = 0;
};

}  // namespace stepslack::render

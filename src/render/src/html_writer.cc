#include "html_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "stepslack/base/result.h"
#include "stepslack/base/utf8.h"

namespace stepslack::render {
namespace {

using base::CodePoint;
using base::DecodeUtf8;
using base::IsControl;

// Elements after whose end tag a new line is harmless and keeps files diffable.
bool IsBlock(std::string_view tag) {
  constexpr std::array<std::string_view, 34> kBlocks = {
      "article", "aside", "body",  "caption", "dd",      "defs",   "desc",
      "details", "div",   "dl",    "dt",      "figure",  "footer", "g",
      "h1",      "h2",    "h3",    "head",    "header",  "html",   "li",
      "main",    "nav",   "ol",    "p",       "section", "style",  "summary",
      "svg",     "table", "tbody", "thead",   "tr",      "ul"};
  return std::find(kBlocks.begin(), kBlocks.end(), tag) != kBlocks.end();
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeUtf8(text, at);
    const std::string_view bytes = text.substr(at, point.bytes);
    at += point.bytes;
    switch (point.value) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if (!point.valid || IsControl(point.value)) {
          out += "\xEF\xBF\xBD";
        } else {
          out += bytes;
        }
    }
  }
  return out;
}

std::string CompactNumber(double value, int decimals) {
  if (!std::isfinite(value)) return "0";
  constexpr double kLimit = 1e9;
  std::string text =
      fmt::format("{:.{}f}", std::clamp(value, -kLimit, kLimit), std::max(0, decimals));
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

Attribute Attribute::When(bool condition, Name name, std::string_view value) {
  Attribute attribute(name, value);
  if (!condition) attribute.name_ = {};
  return attribute;
}

void HtmlWriter::Begin(std::string_view tag, Attributes attributes) {
  out_ += '<';
  out_ += tag;
  for (const Attribute& attribute : attributes) {
    if (attribute.name_.empty()) continue;
    out_ += ' ';
    out_ += attribute.name_;
    out_ += "=\"";
    out_ += attribute.value_;
    out_ += '"';
  }
}

HtmlWriter::Element HtmlWriter::Open(Name tag, Attributes attributes) {
  Begin(tag.text(), attributes);
  out_ += '>';
  return Element(*this, tag.text(), ++open_);
}

void HtmlWriter::Close(std::string_view tag, size_t depth) {
  SS_CHECK(depth == open_);
  --open_;
  out_ += "</";
  out_ += tag;
  out_ += '>';
  if (IsBlock(tag)) out_ += '\n';
}

void HtmlWriter::Leaf(Name tag, Attributes attributes, std::string_view text) {
  const Element element = Open(tag, attributes);
  Text(text);
}

void HtmlWriter::Empty(Name tag, Attributes attributes) {
  Begin(tag.text(), attributes);
  out_ += "/>";
}

void HtmlWriter::Style(TrustedText css) {
  const Element element = Open("style");
  out_ += css.text();
}

void HtmlWriter::Script(TrustedText javascript) {
  const Element element = Open("script");
  out_ += javascript.text();
}

void HtmlWriter::DataBlock(Name id, const base::Json& data) {
  const Element element =
      Open("script", {{"type", "application/json"}, {"id", id.text()}});
  // These characters occur inside strings only, where an escape means the same.
  for (const char c : data.Dump(-1)) {
    if (c == '<') {
      out_ += "\\u003c";
    } else if (c == '>') {
      out_ += "\\u003e";
    } else if (c == '&') {
      out_ += "\\u0026";
    } else {
      out_ += c;
    }
  }
}

std::string HtmlWriter::Take() {
  SS_CHECK(open_ == 0);
  return std::move(out_);
}

}  // namespace stepslack::render

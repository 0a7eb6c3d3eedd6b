#include "tag_balance.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace stepslack::render {
namespace {

const std::set<std::string_view> kSelfClosing = {"meta",   "path",  "rect",
                                                 "circle", "image", "stop"};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  TagReport Read() {
    if (text_.starts_with("<!doctype html>")) at_ = 15;
    while (report_.error.empty() && at_ < text_.size()) {
      text_[at_] == '<' ? ReadTag() : ReadText();
    }
    if (report_.error.empty() && !open_.empty()) Fail("never closed: " + open_.back());
    return report_;
  }

 private:
  void Fail(const std::string& what) {
    report_.error = what + " near byte " + std::to_string(at_) + ": " +
                    std::string(text_.substr(at_ > 40 ? at_ - 40 : 0, 120));
  }

  std::string_view TakeName() {
    const size_t start = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
            text_[at_] == '-' || text_[at_] == ':')) {
      ++at_;
    }
    return text_.substr(start, at_ - start);
  }

  void CheckEntity(std::string_view rest) {
    for (const std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
      if (rest.starts_with(entity)) return;
    }
    Fail("unknown entity");
  }

  void ReadText() {
    if (text_[at_] == '>') return Fail("raw > in text");
    if (text_[at_] == '&') CheckEntity(text_.substr(at_, 8));
    if (open_.empty() && std::isspace(static_cast<unsigned char>(text_[at_])) == 0) {
      return Fail("text outside the root");
    }
    ++at_;
  }

  void ReadAttribute() {
    ++at_;  // the space
    const std::string_view name = TakeName();
    if (name.empty() || !text_.substr(at_).starts_with("=\"")) return Fail("attribute");
    const size_t end = text_.find('"', at_ + 2);
    if (end == std::string_view::npos) return Fail("attribute never ends");
    const std::string_view value = text_.substr(at_ + 2, end - at_ - 2);
    if (value.find_first_of("<>") != std::string_view::npos)
      return Fail("raw < in value");
    if (name == "id") report_.ids.emplace_back(value);
    if (name == "href" && value.starts_with('#')) {
      report_.references.emplace_back(value.substr(1));
    }
    if (value.starts_with("url(#")) {
      report_.references.emplace_back(value.substr(5, value.size() - 6));
    }
    at_ = end + 1;
  }

  void ReadTag() {
    ++at_;
    const bool closing = at_ < text_.size() && text_[at_] == '/';
    if (closing) ++at_;
    const std::string name(TakeName());
    if (name.empty()) return Fail("tag without a name");
    while (report_.error.empty() && at_ < text_.size() && text_[at_] == ' ')
      ReadAttribute();
    if (!report_.error.empty()) return;
    const bool itself = text_.substr(at_).starts_with("/>");
    at_ += itself ? 2 : 1;
    if (text_[at_ - 1] != '>') return Fail("tag does not end");
    if (itself) {
      if (!kSelfClosing.contains(name)) Fail("closes itself: " + name);
    } else if (closing) {
      if (open_.empty() || open_.back() != name)
        return Fail("closed out of order: " + name);
      open_.pop_back();
    } else {
      open_.push_back(name);
      if (name == "style" || name == "script") {
        at_ = std::min(text_.find("</" + name + ">", at_), text_.size());
      }
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<std::string> open_;
  TagReport report_;
};

}  // namespace

TagReport ReadTags(std::string_view text) { return Reader(text).Read(); }

std::string Malformed(std::string_view text) {
  const TagReport report = ReadTags(text);
  if (!report.error.empty()) return report.error;
  const std::set<std::string> ids(report.ids.begin(), report.ids.end());
  if (ids.size() != report.ids.size()) return "an id occurs twice";
  for (const std::string& reference : report.references) {
    if (!ids.contains(reference)) return "no element has the id " + reference;
  }
  return "";
}

}  // namespace stepslack::render

#include "kineto_event.h"

namespace stepslack::trace {
namespace {

JsonToken* ArgumentSlot(std::string_view key, RawEvent& event) {
  if (key == "Collective name") return &event.collective;
  if (key == "In msg nelems") return &event.in_elements;
  if (key == "Out msg nelems") return &event.out_elements;
  if (key == "dtype") return &event.element_type;
  if (key == "Group size") return &event.group_size;
  if (key == "Process Group Name") return &event.group;
  if (key == "Seq") return &event.sequence;
  return nullptr;
}

JsonToken* EventSlot(std::string_view key, RawEvent& event) {
  if (key == "ph") return &event.phase;
  if (key == "cat") return &event.category;
  if (key == "name") return &event.name;
  if (key == "pid") return &event.process;
  if (key == "tid") return &event.thread;
  if (key == "ts") return &event.start;
  if (key == "dur") return &event.duration;
  return nullptr;
}

// A scalar goes to `slot`; a value of another shape, or of an unknown key, is skipped.
bool ReadInto(JsonScanner& scanner, JsonToken* slot) {
  const char c = scanner.Peek();
  if (slot == nullptr || c == '{' || c == '[') return scanner.SkipValue();
  return scanner.ReadScalar(*slot);
}

// Calls member(key) for each member of the object at the scanner.
template <typename Member>
bool ReadMembers(JsonScanner& scanner, Member member) {
  if (!scanner.Take('{')) return false;
  if (scanner.Take('}')) return true;
  std::string_view key;
  while (scanner.ReadString(key) && scanner.Take(':') && member(key)) {
    if (scanner.Take('}')) return true;
    if (!scanner.Take(',')) return false;
  }
  return false;
}

size_t SkipSpaceFrom(std::string_view text, size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' ||
                              text[at] == '\r')) {
    ++at;
  }
  return at;
}

}  // namespace

bool ReadRawEvent(JsonScanner& scanner, RawEvent& event) {
  return ReadMembers(scanner, [&](std::string_view key) {
    if (key != "args" || scanner.Peek() != '{') {
      return ReadInto(scanner, EventSlot(key, event));
    }
    return ReadMembers(scanner, [&](std::string_view argument) {
      return ReadInto(scanner, ArgumentSlot(argument, event));
    });
  });
}

size_t FindEventBoundary(std::string_view text, size_t from) {
  for (size_t brace = text.find('}', from); brace != std::string_view::npos;
       brace = text.find('}', brace + 1)) {
    const size_t next = SkipSpaceFrom(text, brace + 1);
    if (next >= text.size()) break;
    if (text[next] == ']') return next;
    if (text[next] != ',') continue;
    const size_t after = SkipSpaceFrom(text, next + 1);
    if (after < text.size() && text[after] == '{') return after;
  }
  return std::string_view::npos;
}

}  // namespace stepslack::trace

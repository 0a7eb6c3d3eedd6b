#include "kineto_event.h"

namespace stepslack::trace {
namespace {

JsonToken* ArgumentSlot(std::string_view key, RawEvent& event) {
  // Most arguments are none of these; the length rules them out.
  switch (key.size()) {
    case 3:
      return key == "Seq" ? &event.sequence : nullptr;
    case 4:
      return key == "name" ? &event.label : nullptr;
    case 5:
      return key == "dtype" ? &event.element_type : nullptr;
    case 6:
      return key == "stream" ? &event.stream : nullptr;
    case 8:
      if (key == "Src Rank") return &event.source_rank;
      return key == "Dst Rank" ? &event.destination_rank : nullptr;
    case 10:
      return key == "Group size" ? &event.group_size : nullptr;
    case 11:
      if (key == "correlation") return &event.correlation;
      return key == "External id" || key == "external id" ? &event.external_id
                                                          : nullptr;
    case 13:
      return key == "In msg nelems" ? &event.in_elements : nullptr;
    case 14:
      return key == "Out msg nelems" ? &event.out_elements : nullptr;
    case 15:
      return key == "Collective name" ? &event.collective : nullptr;
    case 18:
      return key == "Process Group Name" ? &event.group : nullptr;
    default:
      return nullptr;
  }
}

JsonToken* EventSlot(std::string_view key, RawEvent& event) {
  switch (key.size()) {
    case 2:
      if (key == "ts") return &event.start;
      return key == "ph" ? &event.phase : nullptr;
    case 3:
      if (key == "dur") return &event.duration;
      if (key == "pid") return &event.process;
      if (key == "tid") return &event.thread;
      return key == "cat" ? &event.category : nullptr;
    case 4:
      return key == "name" ? &event.name : nullptr;
    default:
      return nullptr;
  }
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

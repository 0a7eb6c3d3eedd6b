// One event of a Kineto trace as written: views into the text, nothing interpreted.
#pragma once

#include "json_scanner.h"

namespace stepslack::trace {

struct RawEvent {
  JsonToken phase;
  JsonToken category;
  JsonToken name;
  JsonToken process;
  JsonToken thread;
  JsonToken start;     // microseconds
  JsonToken duration;  // microseconds
  // From args.
  JsonToken collective;  // "Collective name"
  JsonToken in_elements;
  JsonToken out_elements;
  JsonToken element_type;
  JsonToken group_size;
  JsonToken group;
  JsonToken sequence;
  JsonToken source_rank;
  JsonToken destination_rank;
  JsonToken label;  // "name" of a metadata event
  JsonToken stream;
  JsonToken correlation;
  JsonToken external_id;
};

// Reads the object that starts at the scanner's position; false leaves the position at
// the place that is wrong. A key that occurs twice counts with its last value.
bool ReadRawEvent(JsonScanner& scanner, RawEvent& event);

// Where the next event (or the end of the array) starts after a broken one that began
// at `from`: the first "} , {" gives the brace, "} ]" the bracket; npos when there is
// none.
size_t FindEventBoundary(std::string_view text, size_t from);

}  // namespace stepslack::trace
